#include "host/engine/recording/plan_check.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/runtime/effect.h"

namespace rtrain::engine {
namespace {

// The generators from which a step may draw: of the CPU, and of its GPU.
std::vector<at::Generator> generators_of(const Record& record) {
  std::vector<at::Generator> out{at::detail::getDefaultCPUGenerator()};
  const auto on_gpu = std::ranges::find_if(
      record.values, [](const Value& value) { return value.geometry.device.is_cuda(); });
  if (on_gpu != record.values.end()) {
    out.push_back(at::globalContext().defaultGenerator(on_gpu->geometry.device));
  }
  return out;
}

std::vector<at::Tensor> random_states(const Record& record) {
  std::vector<at::Tensor> out;
  for (at::Generator& generator : generators_of(record)) {
    const std::lock_guard lock(generator.mutex());
    out.push_back(generator.get_state());
  }
  return out;
}

void set_random_states(const Record& record, const std::vector<at::Tensor>& states) {
  std::vector<at::Generator> generators = generators_of(record);
  for (size_t i = 0; i < generators.size(); ++i) {
    const std::lock_guard lock(generators[i].mutex());
    generators[i].set_state(states[i]);
  }
}

// The same tensor in a copy of its whole memory.
at::Tensor copied(const at::Tensor& tensor) {
  const auto bytes = static_cast<int64_t>(tensor.storage().nbytes());
  const at::Tensor memory = at::empty({0}, tensor.options().dtype(at::kByte))
                                .set_(tensor.storage(), 0, {bytes}, {1})
                                .clone();
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
        for (size_t i = 0; i < kept.size(); ++i) {
          if (kept[i].defined()) changed[i].copy_(kept[i]);
        }
      }));
}

bool has_same_bytes(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.device() != b.device() || a.sizes() != b.sizes()) {
    return false;
  }
  const at::Tensor first = with_one_nan(a).cpu();
  const at::Tensor second = with_one_nan(b).cpu();
  return first.numel() == 0 ||
         std::memcmp(first.const_data_ptr(), second.const_data_ptr(), first.nbytes()) == 0;
}

// The numbers of fast_math, and those of a GPU, whose kernels add up rows in another order, are
// compared roughly: a difference grows from operator to operator. With 16 bits the last bit alone
// is up to 8e-3.
bool has_near_numbers(const at::Tensor& a, const at::Tensor& b) {
  const bool is_narrow = a.defined() && a.element_size() == 2;
  const double kRelative = is_narrow ? 4e-2 : 1e-2;
  const double kAbsolute = is_narrow ? 1e-2 : 1e-4;
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
    : recorded_(plan.record()), copy_(recorded_), random_states_(random_states(recorded_)) {
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
  const std::vector<at::Tensor> after = random_states(recorded_);
  const auto restore = c10::make_scope_exit([&] { set_random_states(recorded_, after); });
  set_random_states(recorded_, random_states_);
  for (size_t i = 0; i < copy_.calls.size(); ++i) {
    if (!copy_.calls[i].is_effect()) continue;
    c10::IValue& effect = copy_.calls[i].arguments[0];
    if (Effect::of(effect).in_check() == Effect::InCheck::kCopied) {
      effect = repetition_of(eager.calls[i]);
    }
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
      const bool may_differ = recorded_.has_fast_math || tensors[i].is_cuda();
      if (may_differ && has_near_numbers(tensors[i], call.kept[i])) continue;
      found = cat("operator ", index + 1, ", ", call.text(), ", gives other numbers than the step");
      return;
    }
  });
  return found;
}

}  // namespace rtrain::engine
