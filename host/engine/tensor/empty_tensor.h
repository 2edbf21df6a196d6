// host/engine/tensor/empty_tensor.h: a new uninitialized tensor.
#pragma once

#include <ATen/core/Tensor.h>

namespace rtrain::engine {

// at::empty, whose own header adds three seconds to compiling a file.
at::Tensor empty_tensor(at::IntArrayRef sizes, const at::TensorOptions& options);

// The same on the CPU, with at least `bytes` writable bytes before its first value, for data that
// arrives together with a header.
at::Tensor empty_tensor_behind(int64_t bytes, at::IntArrayRef sizes, at::ScalarType dtype);

}  // namespace rtrain::engine
