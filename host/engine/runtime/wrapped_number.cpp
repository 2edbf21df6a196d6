#include "host/engine/runtime/wrapped_number.h"

#include <ATen/ScalarOps.h>
#include <c10/core/InferenceMode.h>

#include <bit>

#include "host/engine/runtime/negative_zero.h"

namespace rtrain::engine {
namespace {

// Half precision keeps the number's own dtype, because its kernels compute with the number in
// float.
at::ScalarType operand_dtype(const at::Scalar& number, at::ScalarType other) {
  const bool floating = number.isFloatingPoint();
  if (other == at::kFloat || other == at::kDouble || (other == at::kLong && !floating))
    return other;
  return floating ? at::kDouble : at::kLong;
}

at::Tensor wrap(const at::Scalar& number) {
  at::Tensor out = c10::scalar_to_tensor(number);
  out.unsafeGetTensorImpl()->set_wrapped_number(true);
  return out;
}

at::Tensor wrap(const at::Scalar& number, at::ScalarType dtype) {
  if (dtype == at::kLong || dtype == at::kDouble) {
    return wrap(dtype == at::kLong ? at::Scalar(number.toLong()) : at::Scalar(number.toDouble()));
  }
  // A number beyond float's range becomes infinity, as in the operator's own conversion.
  const auto value = static_cast<float>(number.toDouble());
  at::Tensor out =
      at::detail::scalar_tensor_static(at::Scalar(value), at::kFloat, at::Device(at::kCPU));
  out.unsafeGetTensorImpl()->set_wrapped_number(true);
  return out;
}

}  // namespace

const at::Tensor& WrappedNumbers::get(const at::Scalar& given, const at::Tensor& other) {
  const at::Scalar number = as_operand(given, c10::isIntegralType(other.scalar_type(), true));
  const bool floating = number.isFloatingPoint();
  const bool is_int64 = number.isIntegral(/*includeBool=*/false) && number.type() != at::kUInt64;
  // A tensor made in inference mode cannot be saved for a backward outside of it, so it is not
  // cached.
  if ((!floating && !is_int64) || c10::InferenceMode::is_enabled()) {
    return uncached_ = wrap(number);
  }
  const at::ScalarType dtype = operand_dtype(number, other.scalar_type());
  const uint64_t bits = floating ? std::bit_cast<uint64_t>(number.toDouble())
                                 : static_cast<uint64_t>(number.toLong());
  const uint64_t hash = (bits + static_cast<uint64_t>(dtype)) * 0x9e3779b97f4a7c15u;
  Entry& entry = entries_[hash >> 59];
  if (entry.bits != bits || entry.floating != floating || entry.dtype != dtype) {
    entry = {bits, floating, dtype, wrap(number, dtype)};
  }
  return entry.tensor;
}

}  // namespace rtrain::engine
