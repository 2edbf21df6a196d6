// host/engine/data/idx.h: reads the idx files of MNIST and similar files, plain or compressed with
// gzip.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace rtrain {

// The file's numbers as a tensor of the shape and type in its header: uint8, int8, int16, int32,
// float32 or float64. Throws Error(kNotFound) without such a file, Error(kArgument) with the path
// when it is not an idx file, is truncated, longer than its header says, or when its compressed
// data is damaged.
at::Tensor read_idx(const std::string& path);

}  // namespace rtrain
