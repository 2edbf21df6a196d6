// host/engine/data/npy.h: reads NumPy's files: .npy (one array) and .npz (a zip archive of them).
//
// Versions 1 to 3 of the format, plain numbers of either byte order, C and Fortran order. Arrays of
// objects are pickles, which run code as they are read: they are refused, as are structured
// arrays, texts, dates and long doubles. What is wrong comes as Error(kArgument) without the path.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "host/base/files/byte_source.h"

namespace rtrain {

// The array as a tensor with NumPy's dtype, shape and order of memory. Values of this machine's
// byte order stay in the source's mapping, where it has one; those of bool are always copied.
at::Tensor read_npy(const ByteSource& source);

// Name (without .npy) and array, in the order of the file. Records may be stored or deflated; their
// checksums are verified.
std::vector<std::pair<std::string, at::Tensor>> read_npz(const ByteSource& source);

}  // namespace rtrain
