// host/plot/sixel.h: a picture as sixel data: six rows of pixels are one row of characters, once
// for each colour in it. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rtrain::plot {

// `pixels`: three bytes each, row by row. The whole sequence, from DCS to ST. Parts of colours are
// rounded to percents, as the format has them, and more than 256 colours become that many.
std::string sixel(std::string_view pixels, size_t width, size_t height);

}  // namespace rtrain::plot
