#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "host/base/error.h"
#include "host/plot/painter.h"
#include "host/plot/stroke_font.h"

namespace rtrain::plot {
namespace {

constexpr double kUnit = 1.5;  // pixels for a unit of a letter
constexpr Colour kInk{60, 60, 60};
constexpr double kTextWidth = 1.2;
constexpr int kChannels = 3;

void add_number(std::string& out, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xFF);
}

void add_chunk(std::string& out, std::string_view type, std::string_view data) {
  add_number(out, static_cast<uint32_t>(data.size()));
  const size_t begin = out.size();
  out += type;
  out += data;
  const auto* bytes = reinterpret_cast<const Bytef*>(out.data() + begin);
  add_number(out, static_cast<uint32_t>(crc32(0, bytes, static_cast<uInt>(out.size() - begin))));
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  const int result =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  RT_CHECK(result == Z_OK);
  out.resize(size);
  return out;
}

// Does not use hypot: that of Debian 12 requires a newer glibc than we promise.
double length(double x, double y) { return std::sqrt(x * x + y * y); }

double distance(const PlotPoint& at, const PlotPoint& a, const PlotPoint& b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double square = dx * dx + dy * dy;
  const double along =
      square == 0 ? 0 : std::clamp(((at.x - a.x) * dx + (at.y - a.y) * dy) / square, 0.0, 1.0);
  return length(at.x - a.x - along * dx, at.y - a.y - along * dy);
}

// Draws lines with smooth edges: a pixel is covered more, the nearer its middle is to the line.
class PngPainter : public Painter {
 public:
  explicit PngPainter(PictureSize size)
      : width_(size.width),
        height_(size.height),
        pixels_(static_cast<size_t>(size.width) * static_cast<size_t>(size.height) * kChannels,
                255),
        cover_(static_cast<size_t>(size.width) * static_cast<size_t>(size.height), 0) {}

  // Where a line crosses itself, it covers a pixel only once.
  void line(const std::vector<PlotPoint>& points, const Pen& pen) override {
    if (points.empty()) return;
    for (size_t i = 1; i < points.size(); ++i) cover(points[i - 1], points[i], pen.width);
    if (points.size() == 1) cover(points[0], points[0], pen.width);
    for (const size_t pixel : touched_) {
      const double part = cover_[pixel] * pen.opacity;
      const uint8_t colour[kChannels] = {pen.colour.red, pen.colour.green, pen.colour.blue};
      for (size_t c = 0; c < kChannels; ++c) {
        uint8_t& value = pixels_[pixel * kChannels + c];
        value = static_cast<uint8_t>(std::lround(value + part * (colour[c] - value)));
      }
      cover_[pixel] = 0;
    }
    touched_.clear();
  }

  void text(double x, double y, std::string_view text, Anchor anchor) override {
    const double width = text_width(text);
    if (anchor == Anchor::kMiddle) x -= width / 2;
    if (anchor == Anchor::kEnd) x -= width;
    for (const char letter : letters_of(text)) {
      for (std::vector<PlotPoint> stroke : letter_strokes(letter)) {
        for (PlotPoint& point : stroke) {
          point = {x + point.x * kUnit, y + (point.y - kBaseline) * kUnit};
        }
        line(stroke, {.colour = kInk, .width = kTextWidth, .opacity = 1});
      }
      x += kLetterAdvance * kUnit;
    }
  }

  double text_width(std::string_view text) const override {
    return static_cast<double>(letters_of(text).size()) * kLetterAdvance * kUnit;
  }

  std::string finish() const {
    std::string rows;
    const size_t row_bytes = static_cast<size_t>(width_) * kChannels;
    for (size_t row = 0; row < static_cast<size_t>(height_); ++row) {
      rows += '\0';  // no filter
      rows.append(reinterpret_cast<const char*>(pixels_.data()) + row * row_bytes, row_bytes);
    }
    std::string header;
    add_number(header, static_cast<uint32_t>(width_));
    add_number(header, static_cast<uint32_t>(height_));
    header += std::string("\x08\x02\0\0\0", 5);  // 8 bits, RGB
    std::string out("\x89PNG\r\n\x1a\n");
    add_chunk(out, "IHDR", header);
    add_chunk(out, "IDAT", deflated(rows));
    add_chunk(out, "IEND", "");
    return out;
  }

 private:
  void cover(const PlotPoint& a, const PlotPoint& b, double width) {
    const double reach = width / 2 + 0.5;
    const auto from = [reach](double p, double q) {
      return std::max(static_cast<int>(std::floor(std::min(p, q) - reach)), 0);
    };
    const auto to = [reach](double p, double q, int most) {
      return std::min(static_cast<int>(std::ceil(std::max(p, q) + reach)), most - 1);
    };
    for (int y = from(a.y, b.y); y <= to(a.y, b.y, height_); ++y) {
      for (int x = from(a.x, b.x); x <= to(a.x, b.x, width_); ++x) {
        const double part = reach - distance({x + 0.5, y + 0.5}, a, b);
        if (part <= 0) continue;
        const auto pixel =
            static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x);
        if (cover_[pixel] == 0) touched_.push_back(pixel);
        cover_[pixel] = std::max(cover_[pixel], std::min(part, 1.0));
      }
    }
  }

  int width_;
  int height_;
  std::vector<uint8_t> pixels_;
  std::vector<double> cover_;  // of the line that is being drawn
  std::vector<size_t> touched_;
};

}  // namespace

std::string png_chart(const Chart& chart, PictureSize size) {
  PngPainter painter(size);
  draw_chart(chart, size, painter);
  return painter.finish();
}

}  // namespace rtrain::plot
