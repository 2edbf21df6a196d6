// tests/sim/worlds/watch_world.h: simulated ranks that compute and synchronize, around
// host/decide/hang_verdict.h and absent_ranks.h.
//
// Each rank computes for a while and enters the next collective; all ranks continue when the last
// one has arrived. In some lives one rank has a fault: it is stopped, goes silent, loops, waits for
// data, returns early or calls another collective. The finding must name that fault, in time; a
// healthy group must be left alone, however slow a rank is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/decide/hang_verdict.h"
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
    kReports,  // waits in report() for ranks that wait for it in a collective
    kLost,     // all data is lost: all ranks wait in the same collective
    kBusy,     // stays in train.busy() forever, which no observer can tell from work
    kNumber    // the number of troubles
  };
  struct Rank {
    double work_s = 0;  // until the rank enters its next collective
    uint64_t collectives = 0;
    uint64_t progress = 0;
    uint64_t reports = 0;
    double cpu_s = 0;
    double beat_s = 0;
    double waits_since_s = -1;  // -1: the rank computes
    std::optional<double> reports_since_s;
    bool has_returned = false;
    std::optional<double> wakes_at_s;  // when its thread resumes after a complete collective
    std::vector<decide::CollectiveFacts> calls;
  };

  double next_work_s(size_t rank);
  void advance(double seconds);
  void advance_rank(size_t rank, double seconds);
  void call(size_t rank);
  void complete();
  void wake(size_t rank);
  void look();
  void judge(const decide::HangFinding& finding);
  bool has_majority() const;
  void check_end();
  void check_absent();
  std::vector<decide::RankFacts> facts() const;
  decide::RankFacts facts_of(size_t rank) const;
  bool is_culprit(size_t rank) const { return has_begun_ && rank == culprit_; }

  Draws& draws_;
  decide::HangLimits limits_;
  std::vector<Rank> ranks_;
  decide::HangVerdict verdict_;
  Trouble trouble_;
  bool uses_device_;            // the device waits in collectives, the rank's thread does not
  bool is_quick_;               // ranks do a tenth of the work
  uint64_t num_collectives_;    // collectives of each rank before it returns
  std::optional<size_t> late_;  // a rank that always arrives last, while the group continues
  size_t culprit_ = 0;
  bool has_begun_ = false;  // the trouble has begun
  double begun_s_ = 0;
  double now_s_ = 0;
  double last_move_s_ = 0;  // the last progress of any rank
  bool is_found_ = false;
};

}  // namespace rtrain::sim
