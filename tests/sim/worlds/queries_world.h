// tests/sim/worlds/queries_world.h: simulated ranks that ask for all reported checkpoints, around
// host/decide/checkpoints/checkpoint_queries.h.
//
// Ranks report and ask, reports become complete, validations take their time, waits time out. Every
// question must be answered exactly once, after its checkpoints exist, and equally for all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "host/decide/checkpoints/checkpoint_queries.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class QueriesWorld : public World {
 public:
  explicit QueriesWorld(Draws& draws);
  void live() override;

 private:
  struct Rank {
    int64_t reports = 0;
    std::map<std::pair<int64_t, bool>, int64_t> asked;  // how often it asked each question
    std::optional<decide::CheckpointQuery> waits;
  };

  void step_on();
  void ask(int rank);
  void complete();
  void validate();
  void look();
  void answer(const decide::CheckpointQuestion& question);
  void take(const decide::CheckpointQuery& query, const char* how);
  bool is_ready(const decide::CheckpointQuestion& question) const;
  decide::CheckpointProgress progress() const;

  Draws& draws_;
  bool may_be_late_;
  std::vector<Rank> ranks_;
  decide::CheckpointQueries queries_;
  int64_t complete_ = 0;
  std::set<int64_t> validating_;
  std::vector<decide::CheckpointQuestion>
      asked_for_;  // questions that are due and not looked up yet
  std::map<decide::CheckpointQuestion, int64_t> answers_;
  int64_t last_call_ = 0;
  int64_t last_answer_ = 0;
  double now_s_ = 0;
  bool is_calm_ = false;  // all ranks take turns, and no new fault happens
  int turn_ = 0;
};

}  // namespace rtrain::sim
