#include "host/plot/terminal_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "host/base/text/text.h"
#include "host/base/text/text_width.h"
#include "host/plot/axis.h"

namespace rtrain::plot {
namespace {

constexpr int kDotsWide = 2;
constexpr int kDotsHigh = 4;
constexpr size_t kLeastColumns = 10;
constexpr size_t kLeastRows = 3;

// SGR codes that are readable on dark and on light terminals.
constexpr std::array kColours = {"36", "33", "35", "32", "34", "31", "96", "93"};
// Dashes of curves without a colour: how many columns of dots are drawn, and how many left out.
constexpr std::array<std::array<int, 2>, 5> kDashes = {{{1, 0}, {6, 3}, {2, 2}, {10, 4}, {1, 3}}};

// Returns the bit of a dot, in the order of Unicode's braille characters.
uint8_t dot_bit(int x, int y) {
  constexpr std::array<std::array<uint8_t, kDotsHigh>, kDotsWide> kBits = {
      {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
  return kBits.at(static_cast<size_t>(x)).at(static_cast<size_t>(y));
}

std::string braille(uint8_t dots) {
  const char32_t code = 0x2800 + dots;
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

std::string number(double value) {
  std::array<char, 32> text;
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
  std::snprintf(text.data(), text.size(), is_whole ? "%.0f" : "%.5g", value);
  return text.data();
}

// The dots, and which curve drew last in each cell.
class Canvas {
 public:
  Canvas(size_t columns, size_t rows)
      : columns_(columns), rows_(rows), cells_(columns * rows), curves_(columns * rows) {}

  int width() const { return static_cast<int>(columns_) * kDotsWide; }
  int height() const { return static_cast<int>(rows_) * kDotsHigh; }

  void line(int x, int y, int to_x, int to_y, size_t curve, std::array<int, 2> dash) {
    const int steps = std::max({std::abs(to_x - x), std::abs(to_y - y), 1});
    for (int i = 0; i <= steps; ++i) {
      const double part = static_cast<double>(i) / steps;
      const auto at_x = static_cast<int>(std::lround(x + part * (to_x - x)));
      const auto at_y = static_cast<int>(std::lround(y + part * (to_y - y)));
      if (at_x % (dash[0] + dash[1]) < dash[0]) set(at_x, at_y, curve);
    }
  }

  std::string row(size_t row, bool colours) const {
    std::string out;
    std::optional<size_t> painted;
    for (size_t column = 0; column < columns_; ++column) {
      const size_t cell = row * columns_ + column;
      if (cells_[cell] == 0) {
        out += ' ';
        continue;
      }
      if (colours && painted != curves_[cell]) {
        painted = curves_[cell];
        out += cat("\x1b[", kColours.at(*painted % kColours.size()), "m");
      }
      out += braille(cells_[cell]);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return painted ? out + "\x1b[0m" : out;
  }

 private:
  void set(int x, int y, size_t curve) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    const size_t cell =
        static_cast<size_t>(y / kDotsHigh) * columns_ + static_cast<size_t>(x / kDotsWide);
    cells_[cell] |= dot_bit(x % kDotsWide, y % kDotsHigh);
    curves_[cell] = curve;
  }

  size_t columns_;
  size_t rows_;
  std::vector<uint8_t> cells_;
  std::vector<size_t> curves_;
};

class Drawing {
 public:
  Drawing(const Chart& chart, ChartSize size, bool colours)
      : chart_(chart), colours_(colours), x_(x_axis(chart)), y_(y_axis(chart)) {
    // The axis and its numbers are below the curves, the title is above them.
    constexpr size_t kOtherRows = 3;
    rows_ = std::max(size.rows, kLeastRows + kOtherRows) - kOtherRows;
    y_ticks_ = y_.ticks(std::max<size_t>(rows_ / 2, 2));
    for (const Tick& tick : y_ticks_) gutter_ = std::max(gutter_, text_width(tick.label));
    gutter_ += 1;  // a space between the label and the axis
    columns_ = std::max(size.columns, gutter_ + kLeastColumns + 1) - gutter_ - 1;
  }

  std::vector<std::string> lines() {
    std::vector<std::string> out{cat(std::string(gutter_, ' '), chart_.title)};
    Canvas canvas(columns_, rows_);
    for (size_t i = 0; i < chart_.curves.size(); ++i) draw(chart_.curves[i], i, canvas);
    for (size_t row = 0; row < rows_; ++row) {
      const std::string label = label_of(row);
      out.push_back(cat(std::string(gutter_ - 1 - text_width(label), ' '), label,
                        label.empty() ? " │" : " ┤", canvas.row(row, colours_)));
    }
    add_x_axis(out);
    add_legend(out);
    return out;
  }

 private:
  void draw(const Curve& curve, size_t number, Canvas& canvas) const {
    const bool alone = chart_.curves.size() == 1;
    const auto dash = colours_ || alone ? kDashes[0] : kDashes.at(number % kDashes.size());
    const auto column = [&](double x) {
      return static_cast<int>(std::lround(x_.place(x) * (canvas.width() - 1)));
    };
    const auto row = [&](double y) {
      return static_cast<int>(std::lround((1 - y_.place(y)) * (canvas.height() - 1)));
    };
    const PlotPoint* last = nullptr;
    const auto points = thinned(curve.points, chart_.log_x, columns_ * kDotsWide);
    for (const PlotPoint& point : points) {
      if (std::isnan(point.y)) {
        last = nullptr;
        continue;
      }
      const PlotPoint& from = last == nullptr ? point : *last;
      canvas.line(column(from.x), row(from.y), column(point.x), row(point.y), number, dash);
      last = &point;
    }
  }

  std::string label_of(size_t row) const {
    for (const Tick& tick : y_ticks_) {
      const double at = (1 - y_.place(tick.value)) * static_cast<double>(rows_ * kDotsHigh - 1);
      if (static_cast<size_t>(std::lround(std::max(at, 0.0))) / kDotsHigh == row) return tick.label;
    }
    return "";
  }

  // Adds as many numbers as fit next to each other.
  void add_x_axis(std::vector<std::string>& out) const {
    constexpr size_t kLabelColumns = 10;
    std::vector<std::string> axis(columns_, "─");
    std::string numbers(gutter_ + 1, ' ');
    for (const Tick& tick : x_.ticks(std::max<size_t>(columns_ / kLabelColumns, 2))) {
      const auto column = static_cast<size_t>(std::lround(
          std::clamp(x_.place(tick.value), 0.0, 1.0) * static_cast<double>(columns_ - 1)));
      const size_t width = text_width(tick.label);
      size_t begin = gutter_ + 1 + column - std::min(width / 2, column);
      begin = std::min(begin, gutter_ + 1 + columns_ - std::min(width, columns_));
      const bool is_first = text_width(trim(numbers)) == 0;
      if (!is_first && begin < numbers.size() + 1) continue;
      axis[column] = "┬";
      numbers += cat(std::string(begin - std::min(begin, numbers.size()), ' '), tick.label);
    }
    out.push_back(cat(std::string(gutter_, ' '), "└", join(axis, "")));
    const size_t end = gutter_ + 1 + columns_;
    const size_t label = text_width(chart_.x_label);
    if (numbers.size() + 1 + label <= end) {
      numbers += cat(std::string(end - label - numbers.size(), ' '), chart_.x_label);
    }
    out.push_back(numbers);
  }

  void add_legend(std::vector<std::string>& out) const {
    size_t name_width = 0;
    for (const Curve& curve : chart_.curves)
      name_width = std::max(name_width, text_width(curve.name));
    for (size_t i = 0; i < chart_.curves.size(); ++i) {
      const Curve& curve = chart_.curves[i];
      const std::string padding(name_width - text_width(curve.name), ' ');
      out.push_back(
          cat(std::string(gutter_ + 1, ' '), mark(i), " ", curve.name, padding, values(curve)));
    }
  }

  std::string mark(size_t curve) const {
    Canvas canvas(4, 1);
    const bool alone = chart_.curves.size() == 1;
    const auto dash = colours_ || alone ? kDashes[0] : kDashes.at(curve % kDashes.size());
    canvas.line(0, 2, canvas.width() - 1, 2, curve, dash);
    std::string out = canvas.row(0, colours_);
    if (!colours_) out += std::string(4 - std::min<size_t>(text_width(out), 4), ' ');
    return out;
  }

  static std::string values(const Curve& curve) {
    const PlotPoint* least = nullptr;
    const PlotPoint* most = nullptr;
    const PlotPoint* last = nullptr;
    for (const PlotPoint& point : curve.points) {
      if (std::isnan(point.y)) continue;
      if (least == nullptr || point.y < least->y) least = &point;
      if (most == nullptr || point.y > most->y) most = &point;
      last = &point;
    }
    if (last == nullptr) return "  no points";
    return cat("  last ", number(last->y), "  min ", number(least->y), " at ", number(least->x),
               "  max ", number(most->y), " at ", number(most->x));
  }

  const Chart& chart_;
  bool colours_;
  Axis x_;
  Axis y_;
  size_t rows_ = 0;
  size_t columns_ = 0;
  size_t gutter_ = 0;
  std::vector<Tick> y_ticks_;
};

}  // namespace

std::vector<std::string> terminal_chart(const Chart& chart, ChartSize size, bool colours) {
  return Drawing(chart, size, colours).lines();
}

}  // namespace rtrain::plot
