// host/decide/slow/slow_link.h: whose node has a slow link, from how often data wait for the
// connections between nodes. Pure.
//
// A connection has two ends, and either can be what makes it slow. So a node counts by both
// directions, and the lesser of the two: a slow link slows its node's connections in both, those of
// a neighbour in one. Of two nodes nobody can say which one it is.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "host/decide/rank_facts.h"

namespace rtrain::decide {

// The share of looks at which data waited for the links of a rank's node, and for those of the
// others.
struct LinkUse {
  double own = 0;
  double others = 0;
};

// Adds the counts of a span of time.
void add_links(const std::vector<LinkFacts>& links, std::vector<LinkFacts>& sums);

// `ranks`: the links of each rank. Nullopt where nothing can be said: the rank sends nothing to
// other nodes, another rank of its node is the first one that does, or there are less than three
// nodes.
std::optional<LinkUse> link_use(const std::vector<std::vector<LinkFacts>>& ranks, size_t rank);

// Whether that is more than chance, and than what a link that all use alike has.
bool is_slow(const LinkUse& use);

}  // namespace rtrain::decide
