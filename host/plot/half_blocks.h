// host/plot/half_blocks.h: a picture as characters that are half a line high each: its upper pixel
// is the colour of the character, its lower one that of the ground. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::plot {

enum class TerminalColours { kPalette, kAll };  // the 256 of xterm, or 24 bits

// `pixels`: three bytes each, row by row. A line for two rows of pixels, as wide as they are.
std::vector<std::string> half_blocks(std::string_view pixels, size_t width, size_t height,
                                     TerminalColours colours);

}  // namespace rtrain::plot
