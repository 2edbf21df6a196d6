#include "host/engine/recording/step_plan.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/enum_tag.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <utility>

#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

size_t at(int index) { return static_cast<size_t>(index); }

at::Tensor view_of(const at::Tensor& base, const Geometry& geometry) {
  at::Tensor out = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(base.storage()), base.key_set(),
      c10::scalarTypeToTypeMeta(geometry.dtype));
  out.unsafeGetTensorImpl()->set_sizes_and_strides(geometry.sizes, geometry.strides,
                                                   geometry.offset);
  return out;
}

std::string size_text(const at::Tensor& tensor) {
  return cat(c10::toString(tensor.scalar_type()), " ", c10::str(tensor.sizes()));
}

c10::IValue list_of(const std::vector<at::Tensor>& items) {
  return c10::List<at::Tensor>(c10::ArrayRef<at::Tensor>(items));
}

c10::IValue optional_list_of(const std::vector<at::Tensor>& items) {
  c10::List<std::optional<at::Tensor>> list;
  list.reserve(items.size());
  for (const at::Tensor& item : items) {
    list.push_back(item.defined() ? std::optional<at::Tensor>(item) : std::nullopt);
  }
  return list;
}

}  // namespace

StepPlan::StepPlan(Record record) : record_(std::move(record)) {
  values_.resize(record_.values.size());
  permanent_.resize(record_.values.size());
  for (const at::Tensor& state : record_.states) {
    state_geometry_.push_back(state.defined() ? Geometry::of(state) : Geometry{});
    state_storage_.push_back(state.defined() ? state.storage().unsafeGetStorageImpl() : nullptr);
    state_needs_grad_.push_back(state.defined() && state.requires_grad());
    if (state.defined()) storages_.insert(state_storage_.back());
  }
  for (size_t i = 0; i < record_.values.size(); ++i) {
    const Value& value = record_.values[i];
    if (value.origin == Origin::kConstant) values_[i] = record_.constants[at(value.source)];
    if (value.origin == Origin::kState && record_.grad_of[at(value.source)] < 0) {
      values_[i] = record_.states[at(value.source)];
    }
    permanent_[i] = values_[i].defined();
  }
  outside_.resize(at(record_.num_storages), -1);
  for (size_t i = 0; i < record_.values.size(); ++i) {
    const Value& value = record_.values[i];
    const bool is_outside = value.origin == Origin::kState || value.origin == Origin::kArgument;
    if (is_outside) outside_[at(value.storage)] = static_cast<int>(i);
  }
  const std::vector<bool> needed = needed_calls();
  summary_.recorded = static_cast<int>(record_.calls.size());
  for (size_t i = 0; i < record_.calls.size(); ++i) {
    if (needed[i]) {
      add_step(static_cast<int>(i));
    } else {
      ++summary_.dropped;
    }
  }
  plan_releases();
  count_writes();
}

int StepPlan::outside_of(int value) const {
  return outside_[at(record_.values[at(value)].storage)];
}

// A call is needed if it changes what is outside or random numbers, or if a needed call or the
// caller uses the memory that it writes.
std::vector<bool> StepPlan::needed_calls() const {
  std::vector<bool> storages(at(record_.num_storages));
  const auto need = [&](int value) {
    if (value >= 0) storages[at(record_.values[at(value)].storage)] = true;
  };
  for (const int value : outside_) need(value);
  for (const int output : record_.outputs) need(output);
  for (const GradEffect& effect : record_.grads) need(effect.value);
  need(record_.loss);
  std::vector<bool> out(record_.calls.size());
  for (size_t i = record_.calls.size(); i-- > 0;) {
    const RecordedCall& call = record_.calls[i];
    const auto is_used = [&](int value) {
      return static_cast<bool>(storages[at(record_.values[at(value)].storage)]);
    };
    out[i] = (call.results.empty() && call.written.empty()) ||
             call.op.hasTag(at::Tag::nondeterministic_seeded) ||
             std::ranges::any_of(call.written, is_used) ||
             std::ranges::any_of(call.results, is_used, &TensorPlace::value);
    if (!out[i]) continue;
    for (const TensorPlace& place : call.tensors) need(place.value);
    for (const TensorPlace& place : call.results) need(place.value);
  }
  return out;
}

void StepPlan::add_step(int index) {
  const RecordedCall& call = record_.calls[at(index)];
  Step step{.call = index, .is_view = call.is_view, .lists = {}, .released = {}};
  if (call.is_view) {
    ++summary_.views;
    const bool is_permanent = std::ranges::all_of(
        call.tensors, [&](const TensorPlace& place) { return permanent_[at(place.value)]; });
    if (is_permanent) {
      run_views(call);
      for (const TensorPlace& place : call.results) permanent_[at(place.value)] = true;
      return;
    }
  } else {
    ++summary_.calls[call.name()];
  }
  const auto& arguments = call.op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_list = arguments[i].type()->isSubtypeOf(*c10::ListType::ofTensors()) ||
                         arguments[i].type()->isSubtypeOf(*c10::ListType::ofOptionalTensors());
    if (is_list && call.arguments[i].isInt()) step.lists.push_back(static_cast<int>(i));
  }
  step.changes_state =
      call.op.hasTag(at::Tag::nondeterministic_seeded) ||
      std::ranges::any_of(call.written, [&](int value) { return outside_of(value) >= 0; });
  steps_.push_back(std::move(step));
}

void StepPlan::plan_releases() {
  std::vector<bool> is_kept = permanent_;
  for (const int output : record_.outputs) is_kept[at(output)] = true;
  for (const GradEffect& effect : record_.grads) {
    if (effect.value >= 0) is_kept[at(effect.value)] = true;
  }
  if (record_.loss >= 0) is_kept[at(record_.loss)] = true;
  for (const int value : outside_) {
    if (value >= 0) is_kept[at(value)] = true;
  }
  for (size_t i = 0; i < permanent_.size(); ++i) {
    if (!permanent_[i]) transient_.push_back(static_cast<int>(i));
  }
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    const RecordedCall& call = record_.calls[at(step.call)];
    for (const auto* places : {&call.tensors, &call.results}) {
      for (const TensorPlace& place : *places) {
        if (is_kept[at(place.value)]) continue;
        is_kept[at(place.value)] = true;
        step.released.push_back(place.value);
      }
    }
  }
}

void StepPlan::count_writes() {
  std::map<int, int> counts;
  for (const Step& step : steps_) {
    for (const int value : record_.calls[at(step.call)].written) {
      if (outside_of(value) >= 0) ++counts[outside_of(value)];
    }
  }
  versions_.assign(counts.begin(), counts.end());
}

std::optional<std::string> StepPlan::state_misfit() const {
  for (size_t i = 0; i < record_.states.size(); ++i) {
    const at::Tensor& state = record_.states[i];
    if (!state.defined() || record_.grad_of[i] >= 0) continue;
    if (state.storage().unsafeGetStorageImpl() != state_storage_[i] ||
        !state_geometry_[i].is_of(state)) {
      return cat("a tensor of ", size_text(state), " has other memory than before");
    }
    if (state.requires_grad() != state_needs_grad_[i]) {
      return cat("requires_grad of a tensor of ", size_text(state), " has changed");
    }
  }
  return std::nullopt;
}

std::optional<std::string> StepPlan::grad_misfit() const {
  for (const GradEffect& effect : record_.grads) {
    if (effect.leaf.grad().defined() != effect.was_defined && effect.needs_same) {
      return effect.was_defined ? "a gradient is missing that was there before"
                                : "there are gradients before the step, and were none";
    }
  }
  for (size_t i = 0; i < record_.states.size(); ++i) {
    if (record_.grad_of[i] < 0) continue;
    const at::Tensor& grad = record_.grads[at(record_.grad_of[i])].leaf.grad();
    if (!grad.defined() || !state_geometry_[i].is_of(grad)) return "a gradient has another layout";
  }
  return std::nullopt;
}

std::optional<std::string> StepPlan::misfit(std::span<const at::Tensor> arguments) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const at::Tensor& argument = arguments[i];
    const Geometry& wanted = record_.values[at(record_.arguments[i])].geometry;
    if (argument.layout() != at::kStrided || !argument.device().is_cpu() || argument.is_neg() ||
        argument.is_conj() || !wanted.is_of(argument)) {
      return cat("argument ", i + 1, " is ", size_text(argument), " with other strides or offset");
    }
    if (argument.requires_grad()) return cat("argument ", i + 1, " needs a gradient");
    const c10::StorageImpl* storage = argument.storage().unsafeGetStorageImpl();
    if (storages_.contains(storage)) return cat("argument ", i + 1, " is a tensor of the model");
    for (size_t k = 0; k <= i; ++k) {
      if (arguments[k].storage().unsafeGetStorageImpl() != storage) continue;
      if (k == at(record_.argument_aliases[i])) break;
      return "arguments share memory in another way than before";
    }
  }
  if (auto found = state_misfit()) return found;
  return grad_misfit();
}

void StepPlan::bind(std::span<const at::Tensor> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) values_[at(record_.arguments[i])] = arguments[i];
  for (size_t i = 0; i < record_.values.size(); ++i) {
    const Value& value = record_.values[i];
    if (value.origin != Origin::kState || record_.grad_of[at(value.source)] < 0) continue;
    values_[i] = record_.grads[at(record_.grad_of[at(value.source)])].leaf.grad();
  }
}

void StepPlan::run_views(const RecordedCall& call) {
  for (const TensorPlace& place : call.results) {
    const Value& value = record_.values[at(place.value)];
    const auto base = std::ranges::find_if(call.tensors, [&](const TensorPlace& given) {
      return record_.values[at(given.value)].storage == value.storage;
    });
    values_[at(place.value)] = view_of(values_[at(base->value)], value.geometry);
  }
}

void StepPlan::fill(const RecordedCall& call, const Step& step) {
  stack_ = call.arguments;
  for (const int argument : call.undefined) stack_[at(argument)] = at::Tensor();
  for (const TensorPlace& place : call.tensors) {
    if (place.item < 0) stack_[at(place.at)] = values_[at(place.value)];
  }
  for (const int list : step.lists) {
    std::vector<at::Tensor> items(at(static_cast<int>(call.arguments[at(list)].toInt())));
    for (const TensorPlace& place : call.tensors) {
      if (place.at == list) items[at(place.item)] = values_[at(place.value)];
    }
    const bool is_optional = std::ranges::count(call.optional_lists, list) > 0;
    stack_[at(list)] = is_optional ? optional_list_of(items) : list_of(items);
  }
}

void StepPlan::keep_results(const RecordedCall& call) {
  for (const TensorPlace& place : call.results) {
    c10::IValue& result = stack_[at(place.at)];
    values_[at(place.value)] =
        place.item < 0 ? result.toTensor() : result.toListRef()[at(place.item)].toTensor();
  }
}

void StepPlan::run_call(const Step& step, std::span<const double> rates, const Observer& observer) {
  const RecordedCall& call = record_.calls[at(step.call)];
  fill(call, step);
  if (call.rate >= 0) stack_[at(call.rate_argument)] = rates[at(call.rate)];
  has_changed_ = has_changed_ || step.changes_state;
  call.op.callBoxed(stack_);
  keep_results(call);
  if (observer) observer(at(step.call), stack_);
  stack_.clear();
}

void StepPlan::set_grads() {
  for (const GradEffect& effect : record_.grads) {
    if (!effect.leaf.defined()) continue;
    at::Tensor& grad = effect.leaf.mutable_grad();
    if (effect.kind == GradEffect::Kind::kSet) grad = values_[at(effect.value)];
    if (effect.kind == GradEffect::Kind::kDropped) grad = at::Tensor();
  }
}

void StepPlan::clear() {
  stack_.clear();
  for (const int value : transient_) values_[at(value)].reset();
}

std::vector<at::Tensor> StepPlan::run(std::span<const at::Tensor> arguments,
                                      std::span<const double> rates, const Observer& observer) {
  has_changed_ = false;
  const auto over = c10::make_scope_exit([this] { clear(); });
  bind(arguments);
  {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    for (const Step& step : steps_) {
      if (step.is_view) {
        run_views(record_.calls[at(step.call)]);
      } else {
        run_call(step, rates, observer);
      }
      for (const int value : step.released) values_[at(value)].reset();
    }
  }
  for (const auto& [value, count] : versions_) {
    for (int i = 0; i < count; ++i) values_[at(value)].unsafeGetTensorImpl()->bump_version();
  }
  set_grads();
  loss_ = record_.loss >= 0 ? values_[at(record_.loss)] : at::Tensor();
  std::vector<at::Tensor> out;
  for (const int output : record_.outputs) out.push_back(values_[at(output)]);
  return out;
}

}  // namespace rtrain::engine
