#include "tests/sim/worlds/commits_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostNodes = 4;
constexpr int kMostSteps = 80;

}  // namespace

CommitsWorld::CommitsWorld(Draws& draws)
    : draws_(draws), ready_(static_cast<size_t>(1 + draws.below(kMostNodes))) {}

void CommitsWorld::live() {
  const int num_steps = 1 + draws_.below(kMostSteps);
  for (int i = 0; i < num_steps; ++i) {
    const auto node = static_cast<size_t>(draws_.below(static_cast<int>(ready_.size())));
    draws_.chance(0.5) ? hear() : step(node);
  }
  while (!said_.empty()) hear();
  demand(agreed_ == least(), "all have said that they are ready, and it is not agreed");
}

int64_t CommitsWorld::least() const { return *std::ranges::min_element(ready_); }

// Each rank of a node reports the step that it sees, so a slow rank may report an older step later.
void CommitsWorld::step(size_t node) {
  if (ready_[node] > agreed_) return said_.push_back({node, ready_[node] - draws_.below(2)});
  said_.push_back({node, ++ready_[node]});
}

void CommitsWorld::hear() {
  if (said_.empty()) return;
  const auto it = said_.begin() + draws_.below(static_cast<int>(said_.size()));
  const auto [node, step] = *it;
  said_.erase(it);
  tell(
      [&] { return cat("agreement.on_node_ready(", node, ", ", step, ", ", ready_.size(), ");"); });
  const auto agreed = agreement_.on_node_ready(static_cast<int>(node), step, ready_.size());
  if (!agreed) return;
  demand(*agreed <= least(), "a step is agreed on that a node has not come to");
  demand(*agreed > agreed_, "a step is agreed on twice, or after a later one");
  agreed_ = *agreed;
  mark("agreed");
}

}  // namespace rtrain::sim
