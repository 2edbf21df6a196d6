#include "host/plot/half_blocks.h"

#include <array>
#include <cstdint>

#include "host/base/text/text.h"

namespace rtrain::plot {
namespace {

using Pixel = std::array<uint8_t, 3>;

// Returns the number in xterm's palette, whose cube of 6 x 6 x 6 colours begins at 16.
int palette_index(const Pixel& pixel) {
  constexpr int kCube = 16;
  constexpr int kSteps = 6;
  int out = 0;
  for (const uint8_t part : pixel) out = out * kSteps + (part * (kSteps - 1) + 127) / 255;
  return kCube + out;
}

std::string colour(const Pixel& pixel, int layer, TerminalColours colours) {
  if (colours == TerminalColours::kPalette) return cat(layer, ";5;", palette_index(pixel));
  return cat(layer, ";2;", int{pixel[0]}, ";", int{pixel[1]}, ";", int{pixel[2]});
}

}  // namespace

std::vector<std::string> half_blocks(std::string_view pixels, size_t width, size_t height,
                                     TerminalColours colours) {
  constexpr int kText = 38;
  constexpr int kGround = 48;
  const auto pixel = [&](size_t row, size_t column) {
    Pixel out{};
    const size_t place = (row * width + column) * out.size();
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(pixels.at(place + i));
    return out;
  };
  std::vector<std::string> lines;
  for (size_t row = 0; row < height; row += 2) {
    std::string line;
    std::string last;
    for (size_t column = 0; column < width; ++column) {
      std::string code = colour(pixel(row, column), kText, colours);
      if (row + 1 < height) code += cat(";", colour(pixel(row + 1, column), kGround, colours));
      if (code != last) line += cat("\x1b[", code, "m");
      last = std::move(code);
      line += "▀";
    }
    lines.push_back(line + "\x1b[0m");
  }
  return lines;
}

}  // namespace rtrain::plot
