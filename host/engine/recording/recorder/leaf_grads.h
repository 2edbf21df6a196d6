// host/engine/recording/recorder/leaf_grads.h: what a step does to the gradients of its leaves.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <vector>

#include "host/engine/recording/record.h"

namespace rtrain::engine {

class LeafGrads {
 public:
  // `leaves`: those that are known before the step, with their gradients of now.
  explicit LeafGrads(std::vector<at::Tensor> leaves);

  // The gradients that the known leaves had before the step, as they are or undefined.
  const std::vector<at::Tensor>& before() const { return before_; }
  // The leaf whose gradient the tensor was before the step, or -1.
  int leaf_of(const at::Tensor& grad) const;

  // Called when the step uses the tensor for the first time. It may be no leaf.
  void add(const at::Tensor& tensor);

  // What the step did to each leaf's gradient; nothing if it sets one that no operator has made.
  // `grad_of`: as in Record. `value_of`: the number of a tensor that is recorded, or -1.
  std::optional<std::vector<GradEffect>> effects(
      const std::vector<int>& grad_of, const std::function<int(const at::Tensor&)>& value_of) const;

  // Forgets all, and gives the leaves.
  std::vector<at::Tensor> take_leaves();

 private:
  bool is_known_before(size_t leaf) const { return leaf < before_.size(); }

  std::vector<at::Tensor> leaves_;
  std::vector<at::Tensor> before_;  // of the leaves that are known before the step
  std::vector<at::Tensor> found_;   // of the others, when the step first used them
};

}  // namespace rtrain::engine
