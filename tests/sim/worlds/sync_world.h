// tests/sim/worlds/sync_world.h: simulated ranks in train.collective, around
// host/decide/sync_board.h.
//
// Each rank goes through the same collectives in its own time. Faulty ranks call another
// collective, return early, assume another world size, or wait in a second thread; deadlines pass.
// Every wait must end once: with rank 0's data when all ranks have arrived, or with an error if
// they cannot.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/decide/sync_board.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class SyncWorld : public World {
 public:
  explicit SyncWorld(Draws& draws);
  void live() override;

 private:
  struct Rank {
    int64_t sequence = 0;
    std::optional<decide::SyncArrival> waits;
    bool has_left = false;
  };
  // The faults that can happen in this life.
  struct Faults {
    bool mismatch, leave, size, thread, deadline;
  };

  void step_on();
  void arrive(int rank);
  void leave(int rank);
  void pass_time();
  void look();
  void take(const std::vector<decide::SyncBoard::Answer>& answers);
  void take_data(const std::vector<decide::SyncBoard::Answer>& answers);
  void take_error(const decide::SyncBoard::Answer& answer);
  void refuse(const std::vector<decide::SyncBoard::Answer>& answers, int rank, int64_t id);
  bool is_anybody_waiting() const;
  bool is_anybody_left() const;
  bool do_waits_differ() const;
  int num_waiting() const;

  Draws& draws_;
  Faults faults_;
  decide::SyncSettings settings_;
  std::vector<Rank> ranks_;
  decide::SyncBoard board_;
  std::set<int64_t> open_;  // ids of open waits
  int64_t last_id_ = 0;
  int64_t num_rounds_;  // the number of collectives of each rank
  double now_s_ = 1;
  double deadline_s_ = 0;  // the deadline of the waiting ranks
  double quiet_s_ = 0;     // no warning comes before this time
  bool is_calm_ = false;   // all ranks take turns, and no new fault happens
  int turn_ = 0;
};

}  // namespace rtrain::sim
