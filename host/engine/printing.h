// host/engine/printing.h: tensors as text, the way PyTorch prints them: aligned, large ones
// summarised.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace rtrain {

// "tensor([[1., 2.],\n        [3., 4.]])" with dtype, device and grad_fn where they are not the
// usual ones.
std::string to_text(const at::Tensor& tensor);

}  // namespace rtrain
