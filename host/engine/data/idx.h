// host/engine/data/idx.h: reads the idx files of MNIST and similar files, plain or compressed with
// gzip.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace rtrain {

struct IdxRows {
  at::Tensor values;
  int64_t count;  // of all rows, by the file's header
};

// The file's numbers as a tensor of the shape and type in its header: uint8, int8, int16, int32,
// float32 or float64. With `most` only the first rows, and no more of the file is looked at.
// Throws Error(kNotFound) without such a file, Error(kArgument) when it is not an idx file, is
// truncated, longer than its header says, or when its compressed data is damaged.
IdxRows read_idx(const std::string& path, int64_t most = INT64_MAX);

}  // namespace rtrain
