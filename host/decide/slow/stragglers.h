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
#include <map>
#include <optional>
#include <vector>

#include "host/decide/rank_facts.h"
#include "host/decide/slow/segments.h"
#include "host/decide/slow/slow_link.h"
#include "host/decide/slow/straggler.h"

namespace rtrain::decide {

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
  // How much more the rank has of it than the others.
  double more(int rank, PartNumber number) const;

  std::vector<Rank> ranks_;
  bool has_begun_ = false;
  int looks_ = 0;  // at the present segment
  int64_t num_segments_ = 0;
  Segments segments_;
};

}  // namespace rtrain::decide
