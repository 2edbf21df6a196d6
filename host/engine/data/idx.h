// host/engine/data/idx.h: reads the idx files of MNIST and its kin, plain or compressed with gzip.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace rtrain {

// The file's bytes as a uint8 tensor of the shape in its header. Throws Error(kNotFound) without
// such a file, Error(kArgument) with the path when it is no idx file of unsigned bytes, is
// truncated, longer than its header says, or when its compressed data is damaged.
at::Tensor read_idx(const std::string& path);

}  // namespace rtrain
