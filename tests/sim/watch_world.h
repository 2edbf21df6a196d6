// tests/sim/watch_world.h: ranks that compute and synchronize, simulated, around
// host/decide/hang_verdict.h, stragglers.h and absent_ranks.h.
//
// Each rank computes for a while and comes to the next collective; all go on when the last has
// come. In some lives a rank comes to an end of its own: it is stopped, goes silent, loops, waits
// for data, returns early or calls another collective. What is found must be that and nothing else,
// and in time; a group that goes on must be left alone, however slow a rank is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/decide/hang_verdict.h"
#include "host/decide/stragglers.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class WatchWorld : public World {
 public:
  explicit WatchWorld(Draws& draws);
  void live() override;

 private:
  enum class Trouble {
    kNone,
    kStopped,
    kSilent,
    kLoops,
    kData,
    kReturns,
    kMismatch,
    kReports,  // it waits in report() for ranks that wait for it in a collective
    kLost,     // what is sent never comes: all wait in the same collective
    kBusy,     // train.busy() holds: for ever, and nobody can tell
    kNumber    // of them
  };
  struct Rank {
    double work_s = 0;  // until it comes to its next collective
    uint64_t collectives = 0;
    uint64_t progress = 0;
    uint64_t reports = 0;
    double cpu_s = 0;
    double beat_s = 0;
    double waits_since_s = -1;  // -1: it computes
    std::optional<double> reports_since_s;
    bool has_returned = false;
    std::optional<double> wakes_at_s;  // its collective is complete, its thread does not run yet
    std::vector<CollectiveFacts> calls;
  };

  double next_work_s(size_t rank);
  void advance(double seconds);
  void advance_rank(size_t rank, double seconds);
  void call(size_t rank);
  void complete();
  void wake(size_t rank);
  void look();
  void judge(const HangFinding& finding);
  bool has_majority() const;
  void check_end();
  void check_absent();
  void check_straggler(const Straggler& found);
  std::vector<RankFacts> facts() const;
  RankFacts facts_of(size_t rank) const;
  bool is_culprit(size_t rank) const { return has_begun_ && rank == culprit_; }

  Draws& draws_;
  HangLimits limits_;
  std::vector<Rank> ranks_;
  HangVerdict verdict_;
  Stragglers stragglers_;
  Trouble trouble_;
  bool uses_device_;            // a rank's device waits in its collectives, its thread does not
  bool is_quick_;               // a tenth of the work
  uint64_t num_collectives_;    // of each rank, before it returns
  std::optional<size_t> late_;  // a rank that always comes last, and all go on
  size_t culprit_ = 0;
  bool has_begun_ = false;  // the trouble
  double begun_s_ = 0;
  double now_s_ = 0;
  double last_move_s_ = 0;  // of any rank
  bool is_found_ = false;
  bool is_late_found_ = false;
  int num_complete_ = 0;  // collectives
};

}  // namespace rtrain::sim
