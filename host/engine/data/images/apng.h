// host/engine/data/images/apng.h: animated PNG, which browsers play: a PNG file of the first frame,
// with more frames that other programs skip.
#pragma once

#include "host/engine/data/images/image.h"

namespace rtrain::engine {

// Encodes frames (t, h, w, c) of 1 to 4 channels, contiguous uint8, as an animated PNG that starts
// again after its end. Returns uint8 [n]. REQUIRES: compression_level is 0 to 9, no side is 0, 0 <
// frames_per_second ≤ 60.
at::Tensor encode_apng(const at::Tensor& frames, double frames_per_second, int compression_level);

}  // namespace rtrain::engine
