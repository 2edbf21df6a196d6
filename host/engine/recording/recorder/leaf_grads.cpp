#include "host/engine/recording/recorder/leaf_grads.h"

#include <algorithm>
#include <utility>

namespace rtrain::engine {

LeafGrads::LeafGrads(std::vector<at::Tensor> leaves) : leaves_(std::move(leaves)) {
  for (const at::Tensor& leaf : leaves_) before_.push_back(leaf.grad());
}

int LeafGrads::leaf_of(const at::Tensor& grad) const {
  const auto found = std::ranges::find_if(
      before_, [&](const at::Tensor& each) { return each.defined() && each.is_same(grad); });
  return found == before_.end() ? -1 : static_cast<int>(found - before_.begin());
}

void LeafGrads::add(const at::Tensor& tensor) {
  if (!tensor.requires_grad() || !tensor.is_leaf()) return;
  const bool is_known =
      std::ranges::any_of(leaves_, [&](const at::Tensor& leaf) { return leaf.is_same(tensor); });
  if (is_known) return;
  leaves_.push_back(tensor);
  found_.push_back(tensor.grad());
}

std::optional<std::vector<GradEffect>> LeafGrads::effects(
    const std::vector<int>& grad_of, const std::function<int(const at::Tensor&)>& value_of) const {
  using Kind = GradEffect::Kind;
  std::vector<GradEffect> out;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const at::Tensor& now = leaves_[i].grad();
    const at::Tensor before = is_known_before(i) ? before_[i] : at::Tensor();
    GradEffect effect{.leaf = leaves_[i], .was_defined = before.defined()};
    const bool is_read = std::ranges::count(grad_of, static_cast<int>(i)) > 0;
    effect.needs_same = is_read || !before.defined();
    if (!now.defined()) {
      effect.kind = before.defined() ? Kind::kDropped : Kind::kMissing;
    } else if (before.defined() && now.is_same(before)) {
      effect.kind = Kind::kKept;
    } else if (const int value = value_of(now); value >= 0) {
      effect.kind = Kind::kSet;
      effect.value = value;
    } else if (!is_known_before(i) && now.is_same(found_[i - before_.size()])) {
      effect.kind = Kind::kKept;
      effect.was_defined = true;
      effect.needs_same = false;
    } else {
      return std::nullopt;
    }
    out.push_back(std::move(effect));
  }
  return out;
}

std::vector<at::Tensor> LeafGrads::take_leaves() {
  before_.clear();
  found_.clear();
  return std::move(leaves_);
}

}  // namespace rtrain::engine
