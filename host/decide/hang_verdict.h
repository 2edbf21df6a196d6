// host/decide/hang_verdict.h: tells from the facts of the ranks whether the group hangs, and
// because of which rank.
//
// Pure: the caller gives it the facts of one moment after another, and gets findings. A rank is
// *named* when it has made no progress for a threshold: ten times its longest pause, at least 30 s
// and at most HangLimits::threshold_s. A finding is *fatal*, and the group is ended, only when
// waiting longer cannot help: a process is stopped, a rank has returned that others wait for, ranks
// call different collectives with the same number, two ranks wait for each other, or every rank
// waits and none makes progress. A rank without a heartbeat, one that works without any sign and
// one that waits for data are fatal after a longer time. A slow rank is only named.
//
// A rank's device waits for other ranks only where one of them has not called the collective;
// otherwise it computes. It is not known whether the rank's thread waits as well. So this wait is
// fatal only where the other rank has returned.
//
// A step of time between two calls counts as 5 s at most: a controller that was itself stopped for
// a while does not judge the ranks by that time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/decide/rank_facts.h"

namespace rtrain::decide {

struct HangLimits {
  double threshold_s = 600;  // a rank is named after this time at the latest
  double busy_s = 600;       // no progress is fatal after this time, or ten times its longest pause
  double silent_s = 600;     // a missing heartbeat of the control thread is fatal after this time
};

struct HangFinding {
  enum class Kind {
    kStopped,
    kSilent,
    kReturned,
    kMismatch,
    kCycle,
    kAllWait,
    kBusy,
    kData,
    kSlow
  };
  Kind kind;
  int rank;            // the rank that is named
  bool fatal = false;  // the group is to be ended
  std::string text;
};

class HangVerdict {
 public:
  HangVerdict(HangLimits limits, int num_ranks);

  // Returns the new findings of this moment. A rank is named once until it makes progress again.
  std::vector<HangFinding> decide(double now_s, const std::vector<RankFacts>& given);

 private:
  struct Track {
    uint64_t progress = 0;
    double moved_at = 0;    // when the progress last changed
    double cpu_then_s = 0;  // its processor time then
    double beat_s = 0;
    double beat_at = 0;
    double longest_pause_s = 0;
    double not_stopped_at = 0;
    std::optional<double> returned_at = {};  // when this was first seen
    int samples = 0;                         // moments since the last search for slow ranks
    int waits = 0;                           // those in a wait for other ranks
  };
  using Ranks = std::vector<RankFacts>;

  void follow(const Ranks& ranks);
  double quiet_s(size_t rank) const { return clock_s_ - tracks_[rank].moved_at; }
  double threshold_s(size_t rank) const;
  bool is_idle(const Ranks& ranks, size_t rank) const;
  bool is_exempt(const RankFacts& rank) const;

  void find_stopped(const Ranks& ranks);
  void find_silent(const Ranks& ranks);
  void find_mismatch(const Ranks& ranks);
  void find_endless_waits(const Ranks& ranks);
  void find_all_waiting(const Ranks& ranks);
  void find_quiet(const Ranks& ranks);
  void begin_samples();
  void find_slow(const Ranks& ranks);

  std::string waiters(const Ranks& ranks, size_t but) const;
  void add(HangFinding::Kind kind, size_t rank, bool fatal, std::string text);
  // Whether the rank's wait, which cannot end, has lasted long enough to be fatal.
  bool is_stable(size_t rank, const WaitFacts& wait);

  HangLimits limits_;
  double clock_s_ = 0;
  std::optional<double> last_s_;
  std::vector<Track> tracks_;
  std::vector<std::pair<double, double>> hopeless_;  // by rank: since_s of the wait, first seen
  uint64_t mismatch_ = 0;                            // the number of the collective that differs
  double mismatch_at_ = 0;
  std::set<std::pair<int, std::pair<int, bool>>> named_;  // kind, rank, fatal
  bool slow_named_ = false;
  double slow_from_s_ = 0;
  std::vector<HangFinding> findings_;
};

}  // namespace rtrain::decide
