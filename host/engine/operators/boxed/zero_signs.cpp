#include "host/engine/operators/boxed/zero_signs.h"

#include <ATen/ScalarOps.h>
#include <c10/core/ScalarType.h>

#include <algorithm>

#include "host/engine/runtime/negative_zero.h"

namespace rtrain::engine {
namespace {

bool is_wrapped(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

bool holds_negative_zero(const c10::IValue& value) {
  if (!value.isTensor()) return value.isScalar() && is_negative_zero(value.toScalar());
  const at::Tensor& tensor = value.toTensor();
  return tensor.defined() && is_wrapped(tensor) && is_negative_zero(tensor.item());
}

bool is_floating(const at::Tensor& tensor) {
  return tensor.defined() && !c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
}

}  // namespace

bool all_integers(const Overload& overload, const torch::jit::Stack& stack) {
  // Factories use the default dtype for numbers, except arange, which looks at its bounds.
  if (overload.factory && overload.op.schema().name() != "aten::arange") return false;
  for (size_t i = 0; i < stack.size(); ++i) {
    const c10::IValue& value = stack[i];
    if (holds_negative_zero(value)) continue;
    const bool is_number = overload.params[i].kind == Kind::kScalar && !value.isNone();
    if (is_number && !value.toScalar().isIntegral(/*includeBool=*/true)) return false;
    if (value.isTensor() && is_floating(value.toTensor())) return false;
    if (value.isTensorList() && std::ranges::any_of(value.toTensorVector(), &is_floating))
      return false;
  }
  return true;
}

void clear_signs(const Overload& overload, torch::jit::Stack& stack) {
  for (size_t i = 0; i < stack.size(); ++i) {
    const Param& param = overload.params[i];
    if (!holds_negative_zero(stack[i])) continue;
    if (param.kind == Kind::kScalar) stack[i] = int64_t{0};
    if (param.kind == Kind::kTensor) {
      stack[i] = at::native::wrapped_scalar_tensor(at::Scalar(int64_t{0}));
    }
  }
}

}  // namespace rtrain::engine
