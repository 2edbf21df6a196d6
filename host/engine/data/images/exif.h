// host/engine/data/images/exif.h: the orientation in an image's Exif data.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace rtrain::engine {

// The orientation, 1 to 8 as in the Exif standard: 1 is upright, from 5 on height and width are
// swapped. 1 if the field is absent or the data is damaged. `tiff` begins with "II" or "MM".
int exif_orientation(std::span<const uint8_t> tiff);

inline bool swaps_sides(int orientation) { return orientation >= 5; }

// Rotates or mirrors the image (h, w, c) so that it is upright.
at::Tensor upright(const at::Tensor& image, int orientation);

}  // namespace rtrain::engine
