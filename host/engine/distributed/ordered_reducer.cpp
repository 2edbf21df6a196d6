#include "host/engine/distributed/ordered_reducer.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace rtrain::engine {
namespace {

using torch::autograd::variable_list;

struct GradientHook final : torch::autograd::FunctionPostHook {
  GradientHook(std::function<void(size_t)> fn, size_t number)
      : on_gradient(std::move(fn)), index(number) {}

  variable_list operator()(const variable_list& outputs, const variable_list& /*in*/) override {
    on_gradient(index);
    return outputs;
  }

  std::function<void(size_t)> on_gradient;
  size_t index;
};

// A node of a graph that has no other one.
struct Pass final : torch::autograd::Node {
  explicit Pass(std::function<void()> fn) : body(std::move(fn)) {}

  variable_list apply(variable_list&& /*grads*/) override {
    body();
    return {};
  }

  std::function<void()> body;
};

using NodePointer = decltype(torch::autograd::Edge::function);

// Nodes of a newer LibTorch count their owners themselves.
template <class Pointer>
Pointer make_pass(std::function<void()> body) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>) {
    return std::make_shared<Pass>(std::move(body));
  } else {
    return c10::make_intrusive<Pass>(std::move(body));
  }
}

// Runs the body inside of a backward pass, which ends with it.
void in_backward_pass(const at::Tensor& any, std::function<void()> body) {
  const auto node = make_pass<NodePointer>(std::move(body));
  node->add_input_metadata(any);
  torch::autograd::Engine::get_default_engine().execute(
      {{node, 0}}, {any}, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/true);
}

}  // namespace

void OrderedReducer::set_gradient_order(const std::vector<int64_t>& order) {
  for (const int64_t index : order) push_rebuilt_params(static_cast<size_t>(index));
}

void OrderedReducer::forget_gradient_order() {
  rebuilt_params_.clear();
  rebuilt_param_indices_.clear();
}

void OrderedReducer::forget_counts() {
  for (auto& [index, count] : numGradHooksTriggeredMap_) count = 0;
}

void OrderedReducer::set_hooks(const std::function<void(size_t index)>& on_gradient) {
  remove_autograd_hooks();
  for (size_t i = 0; i < grad_accumulators_.size(); ++i) {
    const auto& node = grad_accumulators_[i];
    hooks_.emplace_back(node->add_post_hook(std::make_unique<GradientHook>(on_gradient, i)), node);
  }
}

bool OrderedReducer::is_last(size_t index) const {
  if (!expect_autograd_hooks_) return false;
  if (static_graph_) {
    const auto passes = num_bwd_calls_ + (first_autograd_hook_called_ ? 0 : 1);
    if (passes == 1 || numGradHooksTriggeredMapPerIteration_.at(index) > 1) return false;
  }
  size_t missing = 0;
  for (const Bucket& bucket : buckets_) missing += bucket.pending;
  if (!has_marked_unused_parameters_) missing -= unused_parameters_.size();
  return missing == 1;
}

std::vector<at::Tensor> OrderedReducer::written_by(size_t index) const {
  const bool writes_all = is_last(index);
  std::vector<at::Tensor> out{params_[index].grad()};
  for (const Bucket& bucket : buckets_) {
    for (size_t i = 0; i < bucket.variable_indices.size(); ++i) {
      const size_t each = bucket.variable_indices[i];
      if (each != index && !writes_all) continue;
      const at::Tensor& grad = params_[each].grad();
      if (each != index && grad.defined()) out.push_back(grad);
      const at::Tensor& place = bucket.bucket_views_in[i];
      if (!grad.defined() || !grad.is_alias_of(place)) out.push_back(place);
    }
  }
  return out;
}

void OrderedReducer::end_gradient(size_t index) {
  if (!is_last(index)) return autograd_hook(index);
  in_backward_pass(params_[index].detach(), [this, index] { autograd_hook(index); });
}

}  // namespace rtrain::engine
