// host/engine/data/images/fused_images.h: makes a batch of images in one pass over their bytes:
// gather by index, crop, pad, flip, map each byte by a table (to float, normalize), and reorder to
// channels first.
//
// Samples are divided among ATen's threads. A loader's worker has one such thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace rtrain::engine {

struct ImagePlan {
  // (c, 257): the values for the bytes 0 … 255 of each channel, and last the value outside the
  // image.
  at::Tensor levels;
  // int64 (batch, 4), or undefined for no crop or flip: top, vertical step, left, horizontal step.
  // Pixel (y, x) of the result is pixel (top + y · step, left + x · step) of the image; steps are 1
  // or -1.
  at::Tensor places;
  int64_t height = 0;  // size of the result
  int64_t width = 0;
};

// images: uint8 (n, h, w) or (n, h, w, c) with any strides; indices: int64 (batch), from 0. Returns
// (batch, c, height, width) with the dtype of `levels`. Throws Error(kArgument) for other shapes or
// dtypes, an index out of range, a step of 0 and a place beyond 2^31.
at::Tensor gather_images(const at::Tensor& images, const at::Tensor& indices,
                         const ImagePlan& plan);

}  // namespace rtrain::engine
