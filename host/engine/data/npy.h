// host/engine/data/npy.h: reads NumPy's files: .npy (one array) and .npz (a zip archive of them).
//
// Reads versions 1 to 3 of the format, plain numbers of either byte order, C and Fortran order.
// Refuses arrays of objects, because they are pickles, which run code when read; also structured
// arrays, strings, dates and long doubles. Errors are Error(kArgument) without the path.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "host/base/files/byte_source.h"

namespace rtrain::engine {

// The array as a tensor with NumPy's dtype, shape and memory order. Values in this machine's byte
// order stay in the source's mapping, if it has one; booleans are always copied.
at::Tensor read_npy(const ByteSource& source);

// Returns each array's name (without .npy) and the array, in file order. Records may be stored or
// deflated; their checksums are verified.
std::vector<std::pair<std::string, at::Tensor>> read_npz(const ByteSource& source);

}  // namespace rtrain::engine
