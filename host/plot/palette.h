// host/plot/palette.h: reduces a picture to few colours. Pure.
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
  std::vector<uint8_t> pixels;                  // indices into `colours`, row by row
};

// `pixels` has three bytes for each, in any order of components, which is kept. A picture with few
// colours keeps all of them; of a picture with more, similar colours become one (median cut).
IndexedPicture indexed(std::string_view pixels);

}  // namespace rtrain::plot
