// host/plot/half_blocks.h: a picture of characters that each show two pixels: the upper pixel is
// the character's colour, the lower one its background. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::plot {

enum class TerminalColours { kPalette, kAll };  // xterm's 256, or 24 bits

// `pixels` has three bytes for each, row by row. Returns a line for every two rows of pixels.
std::vector<std::string> half_blocks(std::string_view pixels, size_t width, size_t height,
                                     TerminalColours colours);

}  // namespace rtrain::plot
