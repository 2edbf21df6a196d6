// host/engine/data/npy_header.h: the header of a .npy file: the text of a Python dict with dtype,
// order and shape.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>
#include <vector>

namespace rtrain::engine {

struct NpyHeader {
  at::ScalarType dtype = at::kByte;
  bool swapped = false;  // values are big-endian
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Throws Error(kArgument) that says what is malformed, or why such an array is not read.
NpyHeader parse_npy_header(std::string_view text);

}  // namespace rtrain::engine
