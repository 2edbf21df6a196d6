// host/engine/distributed/ordered_reducer.h: LibTorch's reducer with what Reducer (reducer.h) needs
// of its protected members: the order of gradients, their places in buckets, and a backward pass
// that autograd does not run.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

namespace rtrain::engine {

class OrderedReducer : public c10d::Reducer {
 public:
  using c10d::Reducer::Reducer;

  // The order of gradients in the first backward, until buckets are rebuilt.
  const std::vector<int64_t>& gradient_order() const { return rebuilt_param_indices_; }
  void set_gradient_order(const std::vector<int64_t>& order);
  // Another backward pass comes before the buckets are rebuilt.
  void forget_gradient_order();
  // How often each gradient is ready in a step of a static graph. LibTorch also counts a backward
  // inside of no_sync before the first step. Later steps would then wait for gradients that never
  // come, and all-reduce nothing.
  void forget_counts();

  // From now on calls on_gradient(index) when a gradient is ready, instead of autograd_hook(index).
  void set_hooks(const std::function<void(size_t index)>& on_gradient);
  // The memory to which autograd_hook(index) writes: the gradient and its place in a bucket, and
  // those of all gradients if it is the last one.
  std::vector<at::Tensor> written_by(size_t index) const;
  // autograd_hook(index) outside of a backward pass, whose end LibTorch waits for: if the gradient
  // is the last one, the exchange has ended when it returns.
  void end_gradient(size_t index);

 private:
  bool is_last(size_t index) const;
};

}  // namespace rtrain::engine
