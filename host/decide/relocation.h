// host/decide/relocation.h: which node takes the workers of a lost one, while the other workers of
// the group live (train.elastic). Pure.
//
// A node takes the workers of one lost node: one that the job has in reserve, the lost one when it
// has come back, or one that has workers of the group already and room for more.
#pragma once

#include <optional>
#include <vector>

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
// `may_share`: workers may share cores, so that each node without workers has enough.
std::optional<std::vector<int>> relocation(const std::vector<NodeWorkers>& lost,
                                           const std::vector<NodeRoom>& rooms, bool may_share);

}  // namespace rtrain::decide
