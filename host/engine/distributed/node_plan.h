// host/engine/distributed/node_plan.h: which ranks of a group are on one node. Pure functions with
// the same result on every rank.
#pragma once

#include <string>
#include <vector>

namespace rtrain::engine {

struct NodePlan {
  std::vector<int> host_of;             // by rank; nodes are numbered by their first ranks
  std::vector<std::vector<int>> ranks;  // by node, ascending; the first represents the node

  int num_hosts() const { return static_cast<int>(ranks.size()); }
  // The ranks on the given rank's node, and the given rank's index among them.
  const std::vector<int>& neighbours(int rank) const;
  int place_of(int rank) const;
  // Whether any two ranks are on one node.
  bool has_neighbours() const { return ranks.size() < host_of.size(); }
};

// `names`: the name of each rank's node.
NodePlan plan_nodes(const std::vector<std::string>& names);

}  // namespace rtrain::engine
