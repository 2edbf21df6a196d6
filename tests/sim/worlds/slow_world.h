// tests/sim/worlds/slow_world.h: simulated ranks that make training steps together, around
// host/decide/slow/stragglers.h.
//
// Each step takes a rank some time for data, computing and its own code, with noise, and all wait
// for the slowest rank. Facts of other nodes are stale. In some lives one rank becomes slow for a
// cause, which must be named, with that cause, within some steps. A healthy group may be evenly
// slow, warm up, evaluate or save on rank 0 alone, have ranks with more batches, and hiccups; then
// nobody may be named.
#pragma once

#include <optional>
#include <vector>

#include "host/decide/slow/stragglers.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class SlowWorld : public World {
 public:
  explicit SlowWorld(Draws& draws);
  void live() override;

 private:
  struct Rank {
    decide::RankFacts facts;  // now
    decide::RankFacts seen;   // by the controller
    bool is_remote = false;
    double speed = 1;      // that its node differs by
    double own_s = 0;      // of the present step, without collectives
    double stopped_s = 0;  // of it
  };

  void step();
  void spend(size_t number);
  void trouble(Rank& rank, double& data_s, double& compute_s, double& other_s);
  void look();
  void judge(const decide::Straggler& found);
  double noise() const;
  bool is_slow() const { return cause_ && now_s_ >= begun_s_ && now_s_ < ended_s_; }

  Draws& draws_;
  std::vector<Rank> ranks_;
  decide::Stragglers stragglers_;
  double data_s_;
  double compute_s_;
  double other_s_;
  double exchange_s_;
  bool evaluates_;    // rank 0, alone
  bool saves_alone_;  // rank 0
  bool all_save_;
  bool is_uneven_;                          // the last rank has more batches
  bool is_busy_;                            // every node has other programs on its cores
  double link_use_;                         // how often data wait for each link
  std::optional<decide::SlowCause> cause_;  // that the trouble has
  size_t culprit_ = 0;
  double factor_ = 1;
  double begun_s_ = 0;
  double ended_s_ = 0;
  double now_s_ = 0;
  double seen_s_ = 0;
  double heard_s_ = 0;  // facts of other nodes have arrived
  int num_steps_ = 0;
  int slow_steps_ = 0;  // with the trouble
  double named_s_ = -1;
  bool has_passed_ = false;
};

}  // namespace rtrain::sim
