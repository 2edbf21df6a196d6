// host/plot/palette.h: a picture as numbers of a few colours. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rtrain::plot {

inline constexpr size_t kMostColours = 256;

struct IndexedPicture {
  std::vector<std::array<uint8_t, 3>> colours;  // at most kMostColours
  std::vector<uint8_t> pixels;                  // places in `colours`, row by row
};

// `pixels`: three bytes each, of which any value may occur; the order of their parts is kept. A
// picture with few colours keeps them; of others similar ones become one (median cut).
IndexedPicture indexed(std::string_view pixels);

}  // namespace rtrain::plot
