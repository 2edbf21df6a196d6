// host/decide/slow/stragglers.h: finds the ranks that slow the others down, and why. Pure.
//
// The ranks of a group wait for the slowest of them in collectives. So a rank that spends less time
// there than the others is the one that they wait for, and the difference is the time that each of
// its steps costs them. Where it spends that time instead is the cause: in data, computing,
// checkpoints, or outside of these. Facts about its host may explain it further.
//
// A slow link holds all ranks up alike: while all of them are in a collective, data wait for it in
// both directions, and for the links of the other nodes they do not (slow_link.h).
//
// The time is cut into segments of some steps, and most of the last segments must agree: a rank
// that is slow now and then is not named. Neither is a group that is evenly slow, a rank that has
// more batches than the others, or rank 0 for what it does alone (evaluation, checkpoints).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/decide/rank_facts.h"
#include "host/decide/slow/slow_link.h"

namespace rtrain::decide {

enum class SlowCause {
  kData,
  kCompute,
  kCheckpoint,
  kOther,      // the script's own code between steps
  kStopped,    // by a signal
  kThrottled,  // its cgroup has a limit
  kDevice,     // runs below its clock
  kCores,      // other programs run on them
  kStolen,     // the virtual machine's host uses the cores for others
  kMemory,     // is on a disk
  kLink,       // between its node and the others
};

// "data", "compute", …
std::string_view cause_name(SlowCause cause);

struct Straggler {
  int rank = 0;
  SlowCause cause = SlowCause::kCompute;
  double lost_s = 0;        // the others wait for that long in each step
  double share = 0;         // of a step
  bool has_passed = false;  // the rank keeps up again
  std::string text = {};    // "computes 1.31 × as long as the others (…): …"
};

// What a rank did in a segment.
struct StragglerPart {
  double steps = 0;  // of optimizers; of a script without them, collectives
  double elapsed_s = 0;
  TimeFacts times = {};
  double alone_s = 0;  // left out of these: work that only rank 0 does
  HostFacts host = {};
  std::vector<LinkFacts> links = {};
  double stopped = 0;       // the share of looks at which its process was stopped
  double device_waits = 0;  // and at which its device waited in a collective
};
using StragglerNumber = double (*)(const StragglerPart& part);

class Stragglers {
 public:
  explicit Stragglers(int num_ranks) : ranks_(static_cast<size_t>(num_ranks)) {}

  // Takes the facts of all ranks at one moment; facts of other nodes may be some seconds old.
  // Returns a straggler once for each cause, and once more when it keeps up again. The same cause
  // returns only after a time in which the rank kept up.
  std::vector<Straggler> look(const std::vector<RankFacts>& facts);

  // What a step takes each rank without waits for the others, of the last segments. Empty where
  // there are too few.
  std::vector<double> work_s() const;

 private:
  using Part = StragglerPart;
  using Number = StragglerNumber;
  using Segment = std::vector<Part>;  // by rank
  struct Rank {
    RankFacts begun = {};  // of the present segment
    int stopped = 0;       // looks in it
    int device_waits = 0;
    bool is_slow = false;
    SlowCause cause = SlowCause::kCompute;    // as of the last judgements
    int judgements = 0;                       // in a row with that cause
    std::map<SlowCause, int64_t> named = {};  // when, in segments
  };

  void begin(const std::vector<RankFacts>& facts);
  bool goes_on(const std::vector<RankFacts>& facts) const;
  bool is_whole(const std::vector<RankFacts>& facts) const;
  void add_segment(const std::vector<RankFacts>& facts);
  std::optional<Straggler> judge(int number);
  std::optional<Straggler> name(int number, const Straggler& found);
  std::optional<Straggler> find(int rank) const;
  std::optional<LinkUse> use_of_links(int rank) const;
  double lost_by_link(const LinkUse& use) const;
  std::optional<Straggler> find_slow_link(int rank) const;
  bool keeps_up(int rank) const;
  std::optional<SlowCause> phase(int rank) const;
  SlowCause explain(int rank, SlowCause phase, const Straggler& found) const;
  std::string describe(int rank, const Straggler& found, SlowCause phase) const;
  std::string computes(int rank) const;
  std::string because(int rank, SlowCause cause) const;

  double lost(const Segment& segment, int rank) const;
  double busy(const Part& part) const;
  // Over all segments: the median of the rank's number, the median of the others', and the means.
  double own(int rank, Number number) const;
  double others(int rank, Number number) const;
  double mean(int rank, Number number) const;
  double mean_of_others(int rank, Number number) const;
  // How much more the rank has of it than the others, by the segments in which it is slow: the rest
  // may be from before.
  double more_when_slow(int rank, Number number) const;
  static double others(const Segment& segment, int rank, Number number);

  std::vector<Rank> ranks_;
  bool has_begun_ = false;
  bool uses_devices_ = false;
  int looks_ = 0;  // at the present segment
  int64_t num_segments_ = 0;
  std::deque<Segment> segments_;  // the last ones
};

}  // namespace rtrain::decide
