// host/engine/data/images/fused_images.h: a batch of images in one pass over their bytes: gather by
// index, crop, pad, mirror, look up what each byte becomes (to float, normalise), and order by
// channel.
//
// Samples are shared among ATen's threads, of which a loader's worker has one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace rtrain {

struct ImagePlan {
  // (c, 257): what the bytes 0 … 255 of a channel become, and last what lies outside the image.
  at::Tensor levels;
  // int64 (batch, 4), or undefined for images as they are: top, vertical step, left, horizontal
  // step. Pixel (y, x) of the result is pixel (top + y · step, left + x · step) of the image; steps
  // are 1 or -1.
  at::Tensor places;
  int64_t height = 0;  // of the result
  int64_t width = 0;
};

// images: uint8 (n, h, w) or (n, h, w, c) with any strides; indices: int64 (batch), from 0.
// Gives (batch, c, height, width) of the dtype of `levels`. Throws Error(kArgument) when shapes or
// dtypes are others, for an index out of range, a step of 0 and a place beyond 2^31.
at::Tensor gather_images(const at::Tensor& images, const at::Tensor& indices,
                         const ImagePlan& plan);

}  // namespace rtrain
