// host/engine/tensor/empty_tensor.h: a new tensor whose values are not set.
#pragma once

#include <ATen/core/Tensor.h>

namespace rtrain {

// at::empty, whose own header takes a file three seconds to compile.
at::Tensor empty_tensor(at::IntArrayRef sizes, const at::TensorOptions& options);

// The same on the CPU, with at least `bytes` bytes in front of its storage that may be written to,
// for what comes with the values from elsewhere.
at::Tensor empty_tensor_behind(int64_t bytes, at::IntArrayRef sizes, at::ScalarType dtype);

}  // namespace rtrain
