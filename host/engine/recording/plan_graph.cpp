// What a StepPlan does around a CUDA graph of one of its runs.
#include <algorithm>
#include <vector>

#include "host/base/text/text.h"
#include "host/engine/recording/step_plan.h"

namespace rtrain::engine {
namespace {

size_t at(int index) { return static_cast<size_t>(index); }

// A number of the script, which operators take from the host.
bool is_number(const Value& value) {
  return value.origin == Origin::kConstant && value.geometry.sizes.empty();
}

}  // namespace

std::optional<std::string> StepPlan::graph_refusal() const {
  const auto effect = std::ranges::find_if(record_.calls, &RecordedCall::is_effect);
  if (effect != record_.calls.end()) return cat("it calls ", effect->name());
  for (const Value& value : record_.values) {
    if (value.geometry.device.is_cpu() && !is_number(value)) return "it uses tensors on the CPU";
  }
  const auto origin_of = [&](int value) { return record_.values[at(outside_of(value))].origin; };
  for (const RecordedCall& call : record_.calls) {
    const bool changes_argument = std::ranges::any_of(call.written, [&](int value) {
      return outside_of(value) >= 0 && origin_of(value) == Origin::kArgument;
    });
    if (changes_argument) return "it changes an argument, of which a graph has a copy";
  }
  for (size_t i = 0; i < record_.states.size(); ++i) {
    if (record_.grad_of[i] < 0) continue;
    const GradEffect::Kind kind = record_.grads[at(record_.grad_of[i])].kind;
    if (kind == GradEffect::Kind::kSet || kind == GradEffect::Kind::kDropped) {
      return "it reads gradients from before the step, and makes others";
    }
  }
  const bool returns_others =
      std::ranges::any_of(record_.outputs, [&](int output) { return outside_of(output) >= 0; });
  if (returns_others) return "it returns an argument or a tensor of the model";
  return std::nullopt;
}

bool StepPlan::has_settled() const {
  return std::ranges::all_of(kernels_, [](const auto& kernel) { return kernel->has_settled(); });
}

void StepPlan::keep_effects() {
  graph_grads_.clear();
  read_grads_.clear();
  for (const GradEffect& effect : record_.grads) {
    const bool is_set = effect.leaf.defined() && effect.kind == GradEffect::Kind::kSet;
    graph_grads_.push_back(is_set ? effect.leaf.grad() : at::Tensor());
  }
  for (size_t i = 0; i < record_.states.size(); ++i) {
    if (record_.grad_of[i] < 0) continue;
    const at::Tensor& grad = record_.grads[at(record_.grad_of[i])].leaf.grad();
    read_grads_.push_back(grad.defined() ? grad.const_data_ptr() : nullptr);
  }
}

bool StepPlan::repeats() const {
  size_t k = 0;
  for (size_t i = 0; i < record_.states.size(); ++i) {
    if (record_.grad_of[i] < 0) continue;
    const at::Tensor& grad = record_.grads[at(record_.grad_of[i])].leaf.grad();
    if (!grad.defined() || grad.const_data_ptr() != read_grads_[k++]) return false;
  }
  return true;
}

void StepPlan::repeat_effects() {
  has_changed_ = true;
  bump_versions();
  for (size_t i = 0; i < record_.grads.size(); ++i) {
    const GradEffect& effect = record_.grads[i];
    if (!effect.leaf.defined()) continue;
    at::Tensor& grad = effect.leaf.mutable_grad();
    if (effect.kind == GradEffect::Kind::kSet) grad = graph_grads_[i];
    if (effect.kind == GradEffect::Kind::kDropped) grad = at::Tensor();
  }
}

}  // namespace rtrain::engine
