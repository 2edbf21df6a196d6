// host/engine/runtime/wrapped_number.h: a number as an operand of a tensor operator.
//
// Like Python's binding, arithmetic with a number uses a 0-dim tensor marked "wrapped", which does
// not take part in type promotion within its category. That needs one dispatch instead of the two
// of the Scalar overloads. If the result has the other operand's dtype anyway, the number is
// created in that dtype, which saves the operator a conversion. The tensors of recent numbers are
// cached, because loops repeat them.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace rtrain::engine {

class WrappedNumbers {
 public:
  // The number as an operand together with `other`. Valid until the next call.
  const at::Tensor& get(const at::Scalar& number, const at::Tensor& other);

 private:
  struct Entry {
    uint64_t bits = 0;
    bool floating = false;
    at::ScalarType dtype = at::ScalarType::Undefined;
    at::Tensor tensor;
  };
  std::array<Entry, 32> entries_;
  at::Tensor uncached_;
};

}  // namespace rtrain::engine
