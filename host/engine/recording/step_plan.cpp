#include "host/engine/recording/step_plan.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/recording/drop_masks.h"
#include "host/engine/runtime/line_range.h"
#include "host/engine/tensor/shard_guard.h"

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
  std::vector<bool> needed = needed_calls(record_);
  summary_.recorded = static_cast<int>(record_.calls.size());
  summary_.dropped = static_cast<int>(std::ranges::count(needed, false));
  record_.masks = take_drop_masks(record_, needed);
  for (PlanItem& item : plan_order(record_, needed)) {
    if (item.region) {
      add_region(item);
    } else {
      add_call(item.calls[0]);
    }
  }
  plan_releases();
}

int StepPlan::outside_of(int value) const {
  return outside_[at(record_.values[at(value)].storage)];
}

void StepPlan::note_changes(Step& step, const RecordedCall& call) const {
  step.changes_state =
      step.changes_state || call.op.hasTag(at::Tag::nondeterministic_seeded) ||
      std::ranges::any_of(call.written, [&](int value) { return outside_of(value) >= 0; });
}

StepPlan::Step StepPlan::step_of(int index) const {
  const RecordedCall& call = record_.calls[at(index)];
  Step step;
  step.call = index;
  if (call.is_view) {
    step.kind = Step::Kind::kView;
  } else {
    if (is_mask_draw(record_, call)) step.kind = Step::Kind::kMask;
    step.is_safe_softmax = call.name() == "aten::_safe_softmax" && call.arguments[2].isNone();
  }
  const auto& arguments = call.op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_list = arguments[i].type()->isSubtypeOf(*c10::ListType::ofTensors()) ||
                         arguments[i].type()->isSubtypeOf(*c10::ListType::ofOptionalTensors());
    if (is_list && call.arguments[i].isInt()) step.lists.push_back(static_cast<int>(i));
  }
  note_changes(step, call);
  for (const ValuePlace& place : call.tensors) step.uses.push_back(place.value);
  for (const ValuePlace& place : call.results) step.uses.push_back(place.value);
  return step;
}

void StepPlan::add_call(int index) {
  const RecordedCall& call = record_.calls[at(index)];
  if (call.is_view) {
    ++summary_.views;
    const bool is_permanent = std::ranges::all_of(
        call.tensors, [&](const ValuePlace& place) { return permanent_[at(place.value)]; });
    if (is_permanent) {
      run_views(call);
      for (const ValuePlace& place : call.results) permanent_[at(place.value)] = true;
      return;
    }
  } else {
    ++summary_.calls[call.name()];
  }
  steps_.push_back(step_of(index));
}

int64_t StepPlan::num_bytes(const RecordedCall& call) const {
  int64_t out = 0;
  const auto add = [&](int value) {
    const Geometry& geometry = record_.values[at(value)].geometry;
    auto count = static_cast<int64_t>(c10::elementSize(geometry.dtype));
    for (const int64_t size : geometry.sizes) count *= size;
    out += count;
  };
  for (const ValuePlace& place : call.tensors) add(place.value);
  for (const ValuePlace& place : call.results) add(place.value);
  for (const int value : call.written) add(value);
  return out;
}

void StepPlan::add_region(PlanItem& item) {
  if (item.region->device.is_cuda()) return add_kernel(item);
  Step step;
  step.kind = Step::Kind::kRegion;
  step.region = static_cast<int>(regions_.size());
  regions_.push_back(std::make_unique<RegionStep>(record_, std::move(*item.region)));
  finish(std::move(step), *regions_.back(), item);
}

void StepPlan::add_kernel(PlanItem& item) {
  Step step;
  step.kind = Step::Kind::kKernel;
  step.region = static_cast<int>(kernels_.size());
  kernels_.push_back(std::make_unique<KernelStep>(record_, std::move(*item.region), item.calls));
  const KernelStep& kernel = *kernels_.back();
  for (const int call : item.with_views) {
    step.eager.push_back(step_of(call));
    for (const ValuePlace& place : record_.calls[at(call)].results) {
      const bool is_output = std::ranges::count(kernel.outputs(), place.value) > 0;
      if (!is_output && !permanent_[at(place.value)]) step.inner.push_back(place.value);
    }
  }
  finish(std::move(step), kernel, item);
}

template <class Region>
void StepPlan::finish(Step step, const Region& region, const PlanItem& item) {
  RegionSummary summary = summary_of(record_, item.calls);
  summary.bytes_saved = -region.num_bytes();
  for (const int call : item.calls) {
    note_changes(step, record_.calls[at(call)]);
    summary.bytes_saved += num_bytes(record_.calls[at(call)]);
    for (const ValuePlace& place : record_.calls[at(call)].results) {
      last_writer_[place.value] = call;
    }
    for (const int value : record_.calls[at(call)].written) last_writer_[value] = call;
  }
  for (const int value : region.outputs()) step.writers.push_back(last_writer_.at(value));
  step.uses = region.inputs();
  step.uses.insert(step.uses.end(), region.outputs().begin(), region.outputs().end());
  summary_.region_calls += summary.num_calls;
  summary_.bytes_saved += summary.bytes_saved;
  step.summary = static_cast<int>(summary_.regions.size());
  summary_.regions.push_back(std::move(summary));
  steps_.push_back(std::move(step));
}

KernelSummary StepPlan::kernel_summary() const {
  KernelSummary out;
  out.kernels = static_cast<int>(kernels_.size());
  for (const auto& kernel : kernels_) {
    out.ready += kernel->is_ready() ? 1 : 0;
    out.launches += kernel->num_launches();
    if (out.refusal.empty()) out.refusal = kernel->refusal();
  }
  return out;
}

void StepPlan::plan_releases() {
  std::vector<bool> is_kept = permanent_;
  for (const int output : record_.outputs) is_kept[at(output)] = true;
  for (const GradEffect& effect : record_.grads) {
    if (effect.value >= 0) is_kept[at(effect.value)] = true;
  }
  if (record_.loss >= 0) is_kept[at(record_.loss)] = true;
  for (size_t i = 0; i < is_kept.size(); ++i) {
    const Origin origin = record_.values[i].origin;
    if (origin == Origin::kArgument || origin == Origin::kState) is_kept[i] = true;
  }
  for (size_t i = 0; i < permanent_.size(); ++i) {
    if (!permanent_[i]) transient_.push_back(static_cast<int>(i));
  }
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    for (const int value : step.uses) {
      if (is_kept[at(value)]) continue;
      is_kept[at(value)] = true;
      step.released.push_back(value);
    }
    if (step.kind == Step::Kind::kRegion) {
      regions_[at(step.region)]->take_memory_of(record_, step.released);
    }
  }
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
    if (argument.layout() != at::kStrided || argument.is_neg() || argument.is_conj() ||
        !wanted.is_of(argument)) {
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
  for (const ValuePlace& place : call.results) {
    const Value& value = record_.values[at(place.value)];
    const auto base = std::ranges::find_if(call.tensors, [&](const ValuePlace& given) {
      return record_.values[at(given.value)].storage == value.storage;
    });
    values_[at(place.value)] = view_of(values_[at(base->value)], value.geometry);
  }
}

void StepPlan::fill(const RecordedCall& call, const Step& step) {
  stack_ = call.arguments;
  for (const int argument : call.undefined) stack_[at(argument)] = at::Tensor();
  for (const ValuePlace& place : call.tensors) {
    if (place.item < 0) stack_[at(place.at)] = values_[at(place.value)];
  }
  for (const int list : step.lists) {
    std::vector<at::Tensor> items(at(static_cast<int>(call.arguments[at(list)].toInt())));
    for (const ValuePlace& place : call.tensors) {
      if (place.at == list) items[at(place.item)] = values_[at(place.value)];
    }
    const bool is_optional = std::ranges::count(call.optional_lists, list) > 0;
    stack_[at(list)] = is_optional ? optional_list_of(items) : list_of(items);
  }
}

void StepPlan::keep_results(const RecordedCall& call) {
  for (const ValuePlace& place : call.results) {
    c10::IValue& result = stack_[at(place.at)];
    values_[at(place.value)] =
        place.item < 0 ? result.toTensor() : result.toListRef()[at(place.item)].toTensor();
  }
}

void StepPlan::run_call(const Step& step, std::span<const double> rates, const Observer& observer) {
  const RecordedCall& call = record_.calls[at(step.call)];
  const LineRange line(call.line);
  fill(call, step);
  if (call.rate >= 0) stack_[at(call.rate_argument)] = rates[at(call.rate)];
  has_changed_ = has_changed_ || step.changes_state;
  if (step.is_safe_softmax) {
    const auto result = safe_softmax(stack_[0].toTensor(), stack_[1].toInt());
    if (result) {
      stack_.assign(1, *result);
    } else {
      call.op.callBoxed(stack_);
    }
  } else {
    call.op.callBoxed(stack_);
  }
  keep_results(call);
  if (observer) observer(at(step.call), stack_);
  stack_.clear();
}

void StepPlan::run_mask(const Step& step, const Observer& observer) {
  const RecordedCall& call = record_.calls[at(step.call)];
  has_changed_ = true;
  at::Tensor& mask = values_[at(call.written[0])];
  const bool has_bytes = record_.masks.contains(call.written[0]);
  if (has_bytes) {
    const Geometry& geometry = record_.values[at(call.written[0])].geometry;
    mask =
        at::empty_strided(geometry.sizes, geometry.strides, at::TensorOptions().dtype(at::kBool));
  }
  draw_mask_(mask, call.arguments[1].toDouble());
  const c10::IValue result = mask;
  if (observer && !has_bytes) observer(at(step.call), result);
}

void StepPlan::run_region(const Step& step, const Observer& observer) {
  const RegionRange range(summary_.regions[at(step.summary)]);
  RegionStep& region = *regions_[at(step.region)];
  has_changed_ = has_changed_ || step.changes_state;
  region.run(values_);
  if (observer) observe(step, region.outputs(), observer);
}

void StepPlan::run_kernel(const Step& step, std::span<const double> rates,
                          const Observer& observer) {
  KernelStep& kernel = *kernels_[at(step.region)];
  const RegionRange range(summary_.regions[at(step.summary)]);
  if (kernel.run(values_)) {
    has_changed_ = has_changed_ || step.changes_state;
    if (observer) observe(step, kernel.outputs(), observer);
    return;
  }
  for (const Step& each : step.eager) run_step(each, rates, observer);
  for (const int value : step.inner) values_[at(value)].reset();
}

// Tells what a region has written.
void StepPlan::observe(const Step& step, const std::vector<int>& outputs,
                       const Observer& observer) const {
  for (size_t i = 0; i < step.writers.size(); ++i) {
    const int value = outputs[i];
    const std::vector<ValuePlace>& places = record_.calls[at(step.writers[i])].results;
    const auto place = std::ranges::find(places, value, &ValuePlace::value);
    const size_t index = place == places.end() ? 0 : at(place->at);
    std::vector<c10::IValue> results(index + 1, at::Tensor());
    results[index] = values_[at(value)];
    observer(at(step.writers[i]), results);
  }
}

void StepPlan::run_step(const Step& step, std::span<const double> rates, const Observer& observer) {
  switch (step.kind) {
    case Step::Kind::kCall:
      return run_call(step, rates, observer);
    case Step::Kind::kView:
      return run_views(record_.calls[at(step.call)]);
    case Step::Kind::kMask:
      return run_mask(step, observer);
    case Step::Kind::kRegion:
      return run_region(step, observer);
    case Step::Kind::kKernel:
      return run_kernel(step, rates, observer);
  }
}

void StepPlan::set_grads() {
  for (const GradEffect& effect : record_.grads) {
    if (!effect.leaf.defined()) continue;
    at::Tensor& grad = effect.leaf.mutable_grad();
    if (effect.kind == GradEffect::Kind::kSet) {
      grad = values_[at(effect.value)];
      mark_as(grad, effect.leaf);
    }
    if (effect.kind == GradEffect::Kind::kDropped) grad = at::Tensor();
  }
}

void StepPlan::bump_versions() {
  for (const auto& [value, count] : record_.versions) {
    const at::Tensor& tensor = values_[at(value)];
    if (!tensor.defined() || tensor.is_inference()) continue;
    for (int i = 0; i < count; ++i) tensor.unsafeGetTensorImpl()->bump_version();
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
    const ShardScope rows;  // the step has been checked
    for (const Step& step : steps_) {
      run_step(step, rates, observer);
      for (const int value : step.released) values_[at(value)].reset();
    }
  }
  bump_versions();
  set_grads();
  loss_ = record_.loss >= 0 ? values_[at(record_.loss)] : at::Tensor();
  std::vector<at::Tensor> out;
  for (const int output : record_.outputs) out.push_back(values_[at(output)]);
  return out;
}

}  // namespace rtrain::engine
