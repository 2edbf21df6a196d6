#include "host/engine/recording/plan_check.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <c10/util/ScopeExit.h>

#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {
namespace {

at::Tensor random_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_random_state(const at::Tensor& state) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

// The same tensor in a copy of its whole memory.
at::Tensor copied(const at::Tensor& tensor) {
  const auto bytes = static_cast<int64_t>(tensor.storage().nbytes());
  const at::Tensor memory = at::empty({bytes}, at::TensorOptions().dtype(at::kByte));
  if (bytes > 0) std::memcpy(memory.data_ptr(), tensor.storage().data(), tensor.storage().nbytes());
  at::Tensor out = at::empty({0}, tensor.options());
  return out.set_(memory.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

// Which NaN an operator gives is not specified.
at::Tensor with_one_nan(const at::Tensor& tensor) {
  if (!tensor.is_floating_point()) return tensor.contiguous();
  return tensor.masked_fill(tensor.isnan(), std::numeric_limits<double>::quiet_NaN()).contiguous();
}

// A tensor in the same memory as `copy`, at the place of `tensor` in its own.
at::Tensor view_of(const at::Tensor& copy, const at::Tensor& tensor) {
  at::Tensor out = at::empty({0}, tensor.options());
  return out.set_(copy.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

// An effect that makes the changes of another one, which has happened.
c10::IValue repetition_of(const RecordedCall& call) {
  return c10::IValue::make_capsule(c10::make_intrusive<Effect>(
      call.name(), "", [kept = call.kept](const auto& changed, const auto& /*read*/) {
        for (size_t i = 0; i < kept.size(); ++i) changed[i].copy_(kept[i]);
      }));
}

bool has_same_bytes(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor first = with_one_nan(a);
  const at::Tensor second = with_one_nan(b);
  return first.numel() == 0 ||
         std::memcmp(first.const_data_ptr(), second.const_data_ptr(), first.nbytes()) == 0;
}

// The numbers of fast_math are compared roughly: a difference grows from operator to operator.
bool has_near_numbers(const at::Tensor& a, const at::Tensor& b) {
  constexpr double kRelative = 1e-2;
  constexpr double kAbsolute = 1e-4;
  if (!a.defined() || !b.defined() || !a.is_floating_point() || a.sizes() != b.sizes())
    return false;
  return at::allclose(a, b, kRelative, kAbsolute, /*equal_nan=*/true);
}

// Memory that no operator has written yet, and what oneDNN keeps for its backward.
bool has_no_numbers(const RecordedCall& call, const at::Tensor& result) {
  const std::string name = call.name();
  return allocates(name) || (name.starts_with("aten::mkldnn_") && result.defined() &&
                             result.scalar_type() == at::kByte);
}

std::vector<at::Tensor> tensors_of(c10::ArrayRef<c10::IValue> results) {
  std::vector<at::Tensor> out;
  for (const c10::IValue& result : results) {
    if (result.isTensor()) out.push_back(result.toTensor());
    if (!result.isTensorList()) continue;
    for (const at::Tensor& item : result.toTensorVector()) out.push_back(item);
  }
  return out;
}

}  // namespace

PlanCheck::PlanCheck(const StepPlan& plan, std::span<const at::Tensor> arguments)
    : recorded_(plan.record()), copy_(recorded_), random_state_(random_state()) {
  std::map<const c10::StorageImpl*, at::Tensor> memory;
  for (size_t i = 0; i < copy_.states.size(); ++i) {
    at::Tensor& state = copy_.states[i];
    if (!state.defined()) continue;
    const int leaf = std::exchange(copy_.grad_of[i], -1);
    if (leaf >= 0) state = copy_.grads[static_cast<size_t>(leaf)].leaf.grad();
    const auto [copy, is_new] = memory.try_emplace(state.storage().unsafeGetStorageImpl());
    if (is_new) copy->second = copied(state.detach());
    state = view_of(copy->second, state);
  }
  copy_.grads.clear();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto first = static_cast<size_t>(plan.record().argument_aliases[i]);
    if (first == i) {
      arguments_.push_back(copied(arguments[i]));
      continue;
    }
    arguments_.push_back(view_of(arguments_[first], arguments[i]));
  }
}

std::optional<std::string> PlanCheck::difference(const Record& eager,
                                                 std::span<const double> rates) {
  if (auto found = engine::difference(recorded_, eager)) return found;
  const at::Tensor after = random_state();
  const auto restore = c10::make_scope_exit([&] { set_random_state(after); });
  set_random_state(random_state_);
  for (size_t i = 0; i < copy_.calls.size(); ++i) {
    if (copy_.calls[i].is_effect()) copy_.calls[i].arguments[0] = repetition_of(eager.calls[i]);
  }
  StepPlan plan(std::move(copy_));
  std::optional<std::string> found;
  plan.run(arguments_, rates, [&](size_t index, c10::ArrayRef<c10::IValue> results) {
    if (found) return;
    const RecordedCall& call = eager.calls[index];
    const std::vector<at::Tensor> tensors = tensors_of(results);
    for (size_t i = 0; i < tensors.size() && i < call.kept.size(); ++i) {
      // A region does not write what nobody reads.
      if (!tensors[i].defined()) continue;
      if (has_no_numbers(call, tensors[i]) || has_same_bytes(tensors[i], call.kept[i])) continue;
      if (recorded_.has_fast_math && has_near_numbers(tensors[i], call.kept[i])) continue;
      found = cat("operator ", index + 1, ", ", call.name(), ", gives other numbers than the step");
      return;
    }
  });
  return found;
}

}  // namespace rtrain::engine
