#include "host/engine/recording/recorder/refusal.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "host/base/text/text.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {
namespace {

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// Kernels for GPUs are for those who ask for them, until tests/gpu has run them on a device.
bool may_use_gpus() {
  const char* const mode = std::getenv("RTRAIN_COMPILE");
  return mode != nullptr && mode == std::string_view("gpu");
}

// Whether a mask of booleans is among the indices, so that the result's size depends on numbers.
bool has_mask(c10::ArrayRef<c10::IValue> arguments) {
  return std::ranges::any_of(arguments, [](const c10::IValue& argument) {
    if (!argument.isOptionalTensorList()) return false;
    return std::ranges::any_of(argument.toListRef(), [](const c10::IValue& item) {
      if (!item.isTensor() || !item.toTensor().defined()) return false;
      const at::ScalarType dtype = item.toTensor().scalar_type();
      return dtype == at::kBool || dtype == at::kByte;
    });
  });
}

}  // namespace

std::string refusal_of(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  const std::string& name = op.operator_name().name;
  if (is_any_of(name, {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero"})) {
    return "it reads a number out of a tensor (item(), or a tensor in a condition)";
  }
  if (name == Effect::kOperator) return "";
  if (!name.starts_with("aten::")) return cat("it calls ", name);
  if (is_any_of(name, {"aten::set_", "aten::resize_", "aten::resize_as_", "aten::_resize_output_",
                       "aten::set_data", "aten::_has_compatible_shallow_copy_type"})) {
    return cat("it puts other memory into a tensor (", name, ")");
  }
  if (op.hasTag(at::Tag::inplace_view)) return cat("it changes a tensor's sizes (", name, ")");
  const bool is_dynamic = op.hasTag(at::Tag::dynamic_output_shape);
  if ((is_dynamic && name != "aten::index") || (name == "aten::index" && has_mask(arguments))) {
    return cat("the size of a result depends on numbers (", name, ")");
  }
  return "";
}

std::string refusal_of(c10::Device device) {
  if (device.is_cpu() || (device.is_cuda() && may_use_gpus())) return "";
  std::string reason = cat("it uses a tensor on ", device.str());
  if (device.is_cuda()) {
    reason += ": RTRAIN_COMPILE=gpu compiles it, with kernels that no real GPU has run yet";
  }
  return reason;
}

}  // namespace rtrain::engine
