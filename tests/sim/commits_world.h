// tests/sim/commits_world.h: hosts in train.elastic, simulated, around
// host/decide/checkpoints/commit_agreement.h.
//
// On each host some ranks come to step after step, one step ahead of what is agreed at most; who
// sees that all of its host are ready says so, and what is said is read in any order.
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
  void step(size_t host);
  void hear();
  int64_t least() const;

  Draws& draws_;
  std::vector<int64_t> ready_;                    // by host
  std::vector<std::pair<size_t, int64_t>> said_;  // and not read
  CommitAgreement agreement_;
  int64_t agreed_ = 0;
};

}  // namespace rtrain::sim
