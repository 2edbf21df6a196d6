// host/decide/absent_ranks.h: completes a rank's time-out in a collective with the ranks of other
// nodes that have not called it. Pure.
//
// A rank can read the shared pages of its own node only. It names the absent ranks of that node.
#pragma once

#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/decide/rank_facts.h"

namespace rtrain::decide {

// The facts about a rank, and the name of its node.
struct PlacedFacts {
  std::string host;
  RankFacts facts;
};

// Returns `error` of the rank. To a time-out it adds the ranks of other nodes that are behind.
Error with_absent_ranks(int rank, const Error& error, const std::vector<PlacedFacts>& ranks);

}  // namespace rtrain::decide
