// host/plot/sixel.h: encodes a picture as sixel data: for each band of six rows of pixels, a row of
// characters for every colour in it. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rtrain::plot {

// `pixels` has three bytes for each, row by row. Returns the complete sequence, from DCS to ST.
// Colour components are rounded to percents, as the format requires, and more than 256 colours are
// reduced to 256.
std::string sixel(std::string_view pixels, size_t width, size_t height);

}  // namespace rtrain::plot
