// host/plot/painter.h: draws the parts of a chart's picture: lines and short texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/plot/chart.h"

namespace rtrain::plot {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

struct Pen {
  Colour colour;
  double width = 1;
  double opacity = 1;
};

enum class Anchor { kStart, kMiddle, kEnd };

// Positions are in pixels from the upper left corner.
class Painter {
 public:
  virtual ~Painter() = default;
  virtual void line(const std::vector<PlotPoint>& points, const Pen& pen) = 0;
  // The text's baseline is at y.
  virtual void text(double x, double y, std::string_view text, Anchor anchor) = 0;
  virtual double text_width(std::string_view text) const = 0;
};

struct PictureSize {
  int width = 900;
  int height = 540;
};

// Draws the curves with axes, grid, ticks and legend.
void draw_chart(const Chart& chart, PictureSize size, Painter& painter);

// Returns the complete file.
std::string svg_chart(const Chart& chart, PictureSize size);
std::string png_chart(const Chart& chart, PictureSize size);

}  // namespace rtrain::plot
