// host/decide/absent_ranks.h: which ranks of other nodes have not come to the collective that
// a rank has waited for. Pure.
//
// A rank sees the pages of its own node alone, and names who is absent there itself.
#pragma once

#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/decide/rank_facts.h"

namespace rtrain::decide {

// One of them, and where it is.
struct PlacedFacts {
  std::string host;
  RankFacts facts;
};

// The error of the rank; a time-out with those ranks of other nodes that are behind it.
Error with_absent_ranks(int rank, const Error& error, const std::vector<PlacedFacts>& ranks);

}  // namespace rtrain::decide
