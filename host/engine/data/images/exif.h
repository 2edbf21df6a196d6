// host/engine/data/images/exif.h: the one field of an image's Exif data that changes how it is
// shown.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace rtrain {

// 1 to 8, as the Exif standard counts: 1 is upright, from 5 on height and width change places. 1
// for data without the field and for data that is damaged. `tiff` begins with "II" or "MM".
int exif_orientation(std::span<const uint8_t> tiff);

inline bool swaps_sides(int orientation) { return orientation >= 5; }

// The image (h, w, c) turned upright.
at::Tensor upright(const at::Tensor& image, int orientation);

}  // namespace rtrain
