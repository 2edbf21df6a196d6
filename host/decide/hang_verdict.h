// host/decide/hang_verdict.h: tells from the facts of the ranks whether the group hangs, and
// through which rank.
//
// Pure: facts of one moment go in, in the order of time; findings come out. It *names* a rank that
// has shown nothing for the threshold (ten times the longest of its recent pauses, at least 30 s
// and at most what is configured). It is *fatal*, and the group is ended, only when waiting
// longer cannot help: a stopped process, a collective that another rank will never call, two
// different collectives at one place in the order, a cycle of waits, every rank waiting while
// nothing moves; and silence, work without any sign, or a wait for data, for far longer. A slow
// rank is named and left alone.
//
// A device waits for other ranks only where one of them has not called its collective, else it
// computes; that its rank's thread waits with it is not known, so that alone proves a hang only
// where the other one has returned.
//
// Time is counted in steps of a few seconds at most, so that a controller that was stopped itself
// wakes up to no verdict.
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
  double threshold_s = 600;  // the most that the naming waits
  double busy_s = 600;  // work without any sign is fatal after that, or ten times its longest pause
  double silent_s = 600;  // the same for a process whose control thread has stopped
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
  int rank;            // the one that differs
  bool fatal = false;  // end the group
  std::string text;
};

class HangVerdict {
 public:
  HangVerdict(HangLimits limits, int num_ranks);

  // The new findings of this moment. A rank is named once until it moves again.
  std::vector<HangFinding> decide(double now_s, const std::vector<RankFacts>& given);

 private:
  struct Track {
    uint64_t progress = 0;
    double moved_at = 0;    // when the progress changed last
    double cpu_then_s = 0;  // processor time up to then
    double beat_s = 0;
    double beat_at = 0;
    double longest_pause_s = 0;
    double not_stopped_at = 0;
    std::optional<double> returned_at = {};  // when that was seen first
    int samples = 0;                         // moments since the last look at who is slow
    int waits = 0;                           // of these, those in a wait for peers
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
  // Whether the wait of that rank, which cannot end, has lasted long enough to be fatal.
  bool is_stable(size_t rank, const WaitFacts& wait);

  HangLimits limits_;
  double clock_s_ = 0;
  std::optional<double> last_s_;
  std::vector<Track> tracks_;
  std::vector<std::pair<double, double>> hopeless_;  // by rank: since_s of the wait, first seen at
  uint64_t mismatch_ = 0;                            // the collective that ranks disagree on
  double mismatch_at_ = 0;
  std::set<std::pair<int, std::pair<int, bool>>> named_;  // kind, rank, fatal
  bool slow_named_ = false;
  double slow_from_s_ = 0;
  std::vector<HangFinding> findings_;
};

}  // namespace rtrain::decide
