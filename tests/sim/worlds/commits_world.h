// tests/sim/worlds/commits_world.h: simulated nodes in train.elastic around
// host/decide/checkpoints/commit_agreement.h.
//
// Each node becomes ready for one step after another, at most one step ahead of the agreed step.
// Its ranks report this to the controller, which reads the reports in any order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "host/decide/checkpoints/commit_agreement.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class CommitsWorld : public World {
 public:
  explicit CommitsWorld(Draws& draws);
  void live() override;

 private:
  void step(size_t node);
  void hear();
  int64_t least() const;

  Draws& draws_;
  std::vector<int64_t> ready_;                    // the last ready step of each node
  std::vector<std::pair<size_t, int64_t>> said_;  // reports (node, step) that were not read yet
  decide::CommitAgreement agreement_;
  int64_t agreed_ = 0;
};

}  // namespace rtrain::sim
