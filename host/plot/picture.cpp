#include <algorithm>
#include <array>
#include <cmath>

#include "host/plot/axis.h"
#include "host/plot/painter.h"

namespace rtrain::plot {
namespace {

constexpr Colour kInk{60, 60, 60};
constexpr Colour kGrid{226, 226, 226};
// Colours that people with colour blindness can distinguish too.
constexpr std::array<Colour, 8> kPalette = {
    Colour{0, 104, 178}, Colour{213, 94, 0},   Colour{0, 150, 110}, Colour{190, 90, 160},
    Colour{225, 160, 0}, Colour{70, 175, 225}, Colour{110, 80, 60}, Colour{120, 120, 120}};

constexpr double kMargin = 16;
constexpr double kLine = 18;  // height of a line of text
constexpr double kFaint = 0.3;

class Picture {
 public:
  Picture(const Chart& chart, PictureSize size, Painter& painter)
      : chart_(chart),
        painter_(painter),
        x_(x_axis(chart)),
        y_(y_axis(chart)),
        y_ticks_(y_.ticks(static_cast<size_t>(std::max(size.height / 60, 2)))) {
    double labels = 0;
    for (const Tick& tick : y_ticks_) labels = std::max(labels, painter.text_width(tick.label));
    left_ = kMargin + labels + 8;
    right_ = size.width - kMargin;
    top_ = kMargin + kLine + 6;
    bottom_ = size.height - kMargin - 2 * kLine - legend_rows(right_ - left_) * kLine;
    bottom_ = std::max(bottom_, top_ + 40);
    height_ = size.height;
  }

  void draw() {
    painter_.text(left_, kMargin + kLine - 6, chart_.title, Anchor::kStart);
    draw_axes();
    for (size_t i = 0; i < chart_.curves.size(); ++i) {
      const Curve& curve = chart_.curves[i];
      draw_curve(curve.faint, {.colour = colour(i), .width = 1, .opacity = kFaint});
      draw_curve(curve.points, {.colour = colour(i), .width = 1.8, .opacity = 1});
    }
    draw_legend();
  }

 private:
  static Colour colour(size_t curve) { return kPalette.at(curve % kPalette.size()); }
  double column(double x) const { return left_ + x_.place(x) * (right_ - left_); }
  double row(double y) const { return bottom_ - y_.place(y) * (bottom_ - top_); }

  void draw_axes() {
    for (const Tick& tick : y_ticks_) {
      const double at = row(tick.value);
      painter_.line({{left_, at}, {right_, at}}, {.colour = kGrid});
      painter_.text(left_ - 6, at + 4, tick.label, Anchor::kEnd);
    }
    for (const Tick& tick : x_.ticks(static_cast<size_t>((right_ - left_) / 90))) {
      const double at = column(tick.value);
      painter_.line({{at, top_}, {at, bottom_}}, {.colour = kGrid});
      painter_.text(at, bottom_ + kLine, tick.label, Anchor::kMiddle);
    }
    painter_.line({{left_, top_}, {left_, bottom_}, {right_, bottom_}}, {.colour = kInk});
    painter_.text((left_ + right_) / 2, bottom_ + 2 * kLine, chart_.x_label, Anchor::kMiddle);
  }

  // Draws a line for each part of the curve between gaps; a single point becomes a short line.
  void draw_curve(const std::vector<PlotPoint>& points, const Pen& pen) {
    std::vector<PlotPoint> piece;
    const auto finish = [&] {
      if (piece.size() == 1) piece.push_back({piece.front().x + 1.5, piece.front().y});
      if (!piece.empty()) painter_.line(piece, pen);
      piece.clear();
    };
    for (const PlotPoint& point :
         thinned(points, chart_.log_x, static_cast<size_t>(right_ - left_))) {
      if (std::isnan(point.y)) {
        finish();
      } else {
        piece.push_back({column(point.x), std::clamp(row(point.y), top_, bottom_)});
      }
    }
    finish();
  }

  double legend_width(const Curve& curve) const { return painter_.text_width(curve.name) + 46; }

  double legend_rows(double room) const {
    double rows = 1;
    double used = 0;
    for (const Curve& curve : chart_.curves) {
      const double width = legend_width(curve);
      if (used > 0 && used + width > room) {
        ++rows;
        used = 0;
      }
      used += width;
    }
    return rows;
  }

  void draw_legend() {
    double x = left_;
    double y = bottom_ + 3 * kLine + 2;
    for (size_t i = 0; i < chart_.curves.size(); ++i) {
      const Curve& curve = chart_.curves[i];
      if (x > left_ && x + legend_width(curve) > right_) {
        x = left_;
        y += kLine;
      }
      if (y > height_) return;
      painter_.line({{x, y - 4}, {x + 22, y - 4}}, {.colour = colour(i), .width = 2.5});
      painter_.text(x + 28, y, curve.name, Anchor::kStart);
      x += legend_width(curve);
    }
  }

  const Chart& chart_;
  Painter& painter_;
  Axis x_;
  Axis y_;
  std::vector<Tick> y_ticks_;
  double left_ = 0;
  double right_ = 0;
  double top_ = 0;
  double bottom_ = 0;
  double height_ = 0;
};

}  // namespace

void draw_chart(const Chart& chart, PictureSize size, Painter& painter) {
  Picture(chart, size, painter).draw();
}

}  // namespace rtrain::plot
