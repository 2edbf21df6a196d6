#include "host/decide/relocation.h"

#include <algorithm>
#include <tuple>

namespace rtrain::decide {
namespace {

// Chooses the node with the least room that is enough, else the one with most room. Of equals it is
// the lost node itself, or else none that is another lost one.
std::vector<NodeWorkers>::iterator best_for(const NodeWorkers& lost,
                                            const std::vector<NodeWorkers>& all_lost,
                                            std::vector<NodeWorkers>& free) {
  const auto cost_of = [&](const NodeWorkers& each) {
    const bool is_small = each.workers < lost.workers;
    const bool was_lost =
        std::ranges::find(all_lost, each.node, &NodeWorkers::node) != all_lost.end();
    return std::tuple(is_small, is_small ? -each.workers : each.workers, each.node != lost.node,
                      was_lost);
  };
  return std::ranges::min_element(free, {}, cost_of);
}

}  // namespace

// A choice of the least room that is enough never keeps another lost node from finding room.
std::optional<std::vector<int>> relocation(const std::vector<NodeWorkers>& lost,
                                           std::vector<NodeWorkers> free, bool may_share) {
  std::vector<int> out;
  for (const NodeWorkers& each : lost) {
    const auto best = best_for(each, lost, free);
    if (best == free.end()) return std::nullopt;
    if (best->workers < each.workers && !may_share) return std::nullopt;
    out.push_back(best->node);
    free.erase(best);
  }
  return out;
}

}  // namespace rtrain::decide
