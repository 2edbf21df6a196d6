// host/engine/data/npy_header.h: the header of a .npy file: a Python dict as text that says dtype,
// order and shape.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>
#include <vector>

namespace rtrain {

struct NpyHeader {
  at::ScalarType dtype = at::kByte;
  bool swapped = false;  // the most significant byte comes first
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Throws Error(kArgument) that says what is malformed, or why such an array is refused.
NpyHeader parse_npy_header(std::string_view text);

}  // namespace rtrain
