// host/decide/relocation.h: which node takes the workers of a lost one, while the other workers of
// the group live (train.elastic). Pure.
//
// A node takes the workers of one lost node, and has none of the group so far: a node that the job
// has in reserve, or the lost one, when it has come back.
#pragma once

#include <optional>
#include <vector>

namespace rtrain::decide {

// A node by its number in the job.
struct NodeWorkers {
  int node = 0;
  int workers = 0;  // that it had, or that its cores or devices are enough for
};

// Returns a node for each of the lost ones, in their order: one with enough cores or devices, and
// no more than needed, preferably the same one. nullopt as long as there is not one for each.
// `may_share`: workers may share cores, so that each node has enough.
std::optional<std::vector<int>> relocation(const std::vector<NodeWorkers>& lost,
                                           std::vector<NodeWorkers> free, bool may_share);

}  // namespace rtrain::decide
