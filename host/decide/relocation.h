// host/decide/relocation.h: which node takes the workers of a lost one, while the other workers of
// the group live (train.elastic). Pure.
//
// The workers of a lost node stay together: they come to a node that the job has in reserve, to the
// lost one when it has come back, or to one that has workers of the group already and room for
// more. Those of several lost nodes come to one only where there is not another one for each.
#pragma once

#include <optional>
#include <vector>

#include "host/decide/placement.h"

namespace rtrain::decide {

// A node by its number in the job.
struct NodeWorkers {
  int node = 0;
  int workers = 0;
};

struct NodeRoom {
  int node = 0;
  int workers = 0;       // that its cores or devices are enough for, next to those that it has
  bool is_used = false;  // it has workers of the group
};

// Returns a node for each of the lost ones, in their order: one with enough cores or devices, and
// no more than needed, preferably the same one. Nodes that have workers get others only where there
// is not another one for each. nullopt as long as there are too few.
// Where workers may share cores, each node without workers has enough for those of one lost node.
std::optional<std::vector<int>> relocation(const std::vector<NodeWorkers>& lost,
                                           const std::vector<NodeRoom>& rooms,
                                           const Placement& placement);

}  // namespace rtrain::decide
