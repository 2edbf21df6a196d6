// tests/sim/worlds/replicas_world.h: simulated ranks of train.elastic that compare their states,
// around host/decide/replica_vote.h.
//
// Ranks make steps, and a step's gradients carry what is wrong on one rank to all others. Bits flip
// on some ranks between a step and its commit, ranks are lost, also in the middle of a comparison,
// and get the state of another one, and without a majority the group goes back to its checkpoint.
#pragma once

#include <cstdint>
#include <vector>

#include "host/decide/replica_vote.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class ReplicasWorld : public World {
 public:
  explicit ReplicasWorld(Draws& draws);
  void live() override;

 private:
  void step();
  void flip();
  void lose();
  void compare();
  // Gives the ranks that differ the state of the one that is believed. Returns false where a rank
  // was lost in the middle of it.
  bool mend(const decide::ReplicaVote& found);
  void restart();
  // The vote of the ranks that hold a state. Ranks are numbers of ranks_.
  decide::ReplicaVote vote(const std::vector<int>& holders);
  void demand_right_vote(const decide::ReplicaVote& vote, const std::vector<int>& holders) const;
  bool is_damaged(int rank) const { return state(rank) != truth_; }
  uint64_t& state(int rank) { return ranks_.at(static_cast<size_t>(rank)); }
  uint64_t state(int rank) const { return ranks_.at(static_cast<size_t>(rank)); }
  std::vector<int> all() const;

  Draws& draws_;
  int every_;                // commits between two comparisons
  uint64_t truth_ = 1;       // the state without a fault
  uint64_t checkpoint_ = 1;  // the state at the checkpoint
  std::vector<uint64_t> ranks_;
  uint64_t num_flips_ = 0;
};

}  // namespace rtrain::sim
