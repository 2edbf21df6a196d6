#include "host/engine/tensor/empty_tensor.h"

#include <ATen/ops/empty.h>

namespace rtrain {

at::Tensor empty_tensor(at::IntArrayRef sizes, const at::TensorOptions& options) {
  return at::empty(sizes, options);
}

}  // namespace rtrain
