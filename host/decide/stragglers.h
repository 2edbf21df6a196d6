// host/decide/stragglers.h: finds the rank that the others keep waiting for, since it is the last
// one in most collectives. Pure.
//
// It compares when the ranks called the same collective, where the facts show this for all ranks.
// For a rank that computes on a GPU, this says only how far the rank's thread is.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "host/decide/rank_facts.h"

namespace rtrain::decide {

struct Straggler {
  int rank = 0;
  int last = 0;         // how often it came last
  int of = 0;           // the number of collectives that were compared
  double behind_s = 0;  // after the median of the ranks, on average
};

class Stragglers {
 public:
  explicit Stragglers(int num_ranks) : seen_(static_cast<size_t>(num_ranks)) {}

  // Takes the facts of all ranks at one moment. Returns each straggler once.
  std::optional<Straggler> look(const std::vector<RankFacts>& ranks);

 private:
  struct Arrival {
    uint64_t sequence = 0;
    int last = 0;  // the rank that came last
    double behind_s = 0;
    double time_s = 0;  // when this rank came
  };
  using Calls = std::map<uint64_t, double>;  // a collective's number, when the rank called it

  void remember(const std::vector<RankFacts>& ranks);
  void compare();
  std::optional<Arrival> arrival(uint64_t sequence) const;
  std::optional<Straggler> find() const;

  std::vector<Calls> seen_;
  std::deque<Arrival> arrivals_;  // the latest
  std::vector<bool> named_ = std::vector<bool>(seen_.size());
};

}  // namespace rtrain::decide
