// host/decide/stragglers.h: finds the rank that the others keep waiting for: in collective
// after collective it comes last. Pure.
//
// It compares when the ranks came to the same collective, as far as their facts show both. That is
// the time of the call: of a rank that computes on a GPU it says only how far its thread is.
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
  int of = 0;           // collectives that were compared
  double behind_s = 0;  // behind half of the ranks, on average
};

class Stragglers {
 public:
  explicit Stragglers(int num_ranks) : seen_(static_cast<size_t>(num_ranks)) {}

  // All ranks' facts at one moment. Names each rank once.
  std::optional<Straggler> look(const std::vector<RankFacts>& ranks);

 private:
  struct Arrival {
    uint64_t sequence = 0;
    int last = 0;  // the rank
    double behind_s = 0;
    double time_s = 0;  // when the last one came
  };
  using Calls = std::map<uint64_t, double>;  // when the rank came to which collective

  void remember(const std::vector<RankFacts>& ranks);
  void compare();
  std::optional<Arrival> arrival(uint64_t sequence) const;
  std::optional<Straggler> find() const;

  std::vector<Calls> seen_;
  std::deque<Arrival> arrivals_;  // the latest
  std::vector<bool> named_ = std::vector<bool>(seen_.size());
};

}  // namespace rtrain::decide
