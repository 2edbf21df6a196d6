// host/engine/tensor/empty_tensor.h: a new tensor whose values are not set.
#pragma once

#include <ATen/core/Tensor.h>

namespace rtrain {

// at::empty, whose own header takes a file three seconds to compile.
at::Tensor empty_tensor(at::IntArrayRef sizes, const at::TensorOptions& options);

}  // namespace rtrain
