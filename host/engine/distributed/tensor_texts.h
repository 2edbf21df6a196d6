// host/engine/distributed/tensor_texts.h: a collective's tensors as text, equal on all ranks that
// agree.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace rtrain::engine {

// "float32 [2, 3]"; for several tensors the first one, how many more, and the total of elements.
std::string describe_tensors(const std::vector<at::Tensor>& tensors);

}  // namespace rtrain::engine
