// host/engine/data/idx.h: reads the idx files of MNIST and similar files, plain or compressed with
// gzip.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace rtrain::engine {

struct IdxRows {
  at::Tensor values;
  int64_t count;  // rows in the file, according to its header
};

// Reads the file as a tensor with the shape and type of its header: uint8, int8, int16, int32,
// float32 or float64. With `most`, reads only that many rows from the beginning. Throws
// Error(kNotFound) if the file does not exist, and Error(kArgument) if it is not an idx file, is
// truncated, is longer than its header says, or has damaged compressed data.
IdxRows read_idx(const std::string& path, int64_t most = INT64_MAX);

}  // namespace rtrain::engine
