#include "host/engine/wrapped_number.h"

#include <ATen/ScalarOps.h>
#include <c10/core/InferenceMode.h>

#include <bit>

namespace rtrain {
namespace {

at::Tensor wrap(const at::Scalar& number) {
  at::Tensor out = c10::scalar_to_tensor(number);
  out.unsafeGetTensorImpl()->set_wrapped_number(true);
  return out;
}

}  // namespace

const at::Tensor& WrappedNumbers::get(const at::Scalar& number) {
  const bool floating = number.isFloatingPoint();
  // A tensor made in inference mode cannot be saved for a backward pass outside of it.
  if ((!floating && !number.isIntegral(/*includeBool=*/false)) || c10::InferenceMode::is_enabled()) {
    return uncached_ = wrap(number);
  }
  const uint64_t bits = floating ? std::bit_cast<uint64_t>(number.toDouble())
                                 : static_cast<uint64_t>(number.toLong());
  const uint64_t hash = (bits + (floating ? 1 : 0)) * 0x9e3779b97f4a7c15u;
  Entry& entry = entries_[hash >> 59];
  if (!entry.tensor.defined() || entry.bits != bits || entry.floating != floating) {
    entry = {bits, floating, wrap(number)};
  }
  return entry.tensor;
}

}  // namespace rtrain
