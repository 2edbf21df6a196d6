// host/engine/distributed/tensor_texts.h: tensors of a collective as text, the same on every rank
// that agrees.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace rtrain {

// "float32 [2, 3]"; of many tensors the first, how many more and how many elements in all.
std::string describe_tensors(const std::vector<at::Tensor>& tensors);

}  // namespace rtrain
