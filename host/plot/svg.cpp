#include <array>
#include <cstdio>

#include "host/base/text/text.h"
#include "host/plot/painter.h"
#include "host/plot/svg_text.h"

namespace rtrain::plot {
namespace {

constexpr double kFontSize = 12;

std::string number(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

class SvgPainter : public Painter {
 public:
  explicit SvgPainter(PictureSize size)
      : out_(cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", size.width, "\" height=\"",
                 size.height, "\" viewBox=\"0 0 ", size.width, " ", size.height,
                 "\" font-family=\"sans-serif\" font-size=\"", kFontSize,
                 "\" fill=\"#3c3c3c\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n")) {}

  void line(const std::vector<PlotPoint>& points, const Pen& pen) override {
    out_ += "<polyline fill=\"none\" stroke-linejoin=\"round\" points=\"";
    for (const PlotPoint& point : points) out_ += cat(number(point.x), ",", number(point.y), " ");
    std::array<char, 8> colour;
    std::snprintf(colour.data(), colour.size(), "#%02x%02x%02x", pen.colour.red, pen.colour.green,
                  pen.colour.blue);
    out_ += cat("\" stroke=\"", std::string_view(colour.data()), "\" stroke-width=\"",
                number(pen.width), "\"");
    if (pen.opacity < 1) out_ += cat(" stroke-opacity=\"", number(pen.opacity), "\"");
    out_ += "/>\n";
  }

  void text(double x, double y, std::string_view text, Anchor anchor) override {
    constexpr std::array kAnchors = {"start", "middle", "end"};
    out_ += cat("<text x=\"", number(x), "\" y=\"", number(y), "\" text-anchor=\"",
                kAnchors.at(static_cast<size_t>(anchor)), "\">", svg_text(text), "</text>\n");
  }

  // An estimate, because the viewer chooses the font: a little more than most fonts need.
  double text_width(std::string_view text) const override {
    return static_cast<double>(text.size()) * kFontSize * 0.6;
  }

  std::string finish() const { return out_ + "</svg>\n"; }

 private:
  std::string out_;
};

}  // namespace

std::string svg_chart(const Chart& chart, PictureSize size) {
  SvgPainter painter(size);
  draw_chart(chart, size, painter);
  return painter.finish();
}

}  // namespace rtrain::plot
