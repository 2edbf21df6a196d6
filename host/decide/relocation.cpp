#include "host/decide/relocation.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace rtrain::decide {
namespace {

using Rooms = std::vector<NodeRoom>;

// The number of workers that a node may take.
int most(const NodeRoom& room, bool may_share) {
  return may_share && !room.is_used ? std::numeric_limits<int>::max() : room.workers;
}

// Chooses the node that may take the fewest workers and enough; of nodes whose workers may share
// cores the one with the least room that is enough, else the one with most room. Of equals it is
// one without workers, the lost node itself, or else none that is another lost one.
Rooms::iterator best_for(const NodeWorkers& lost, const std::vector<NodeWorkers>& all_lost,
                         Rooms& rooms, bool may_share) {
  const auto cost_of = [&](const NodeRoom& each) {
    const bool is_small = each.workers < lost.workers;
    const bool was_lost =
        std::ranges::find(all_lost, each.node, &NodeWorkers::node) != all_lost.end();
    return std::tuple(most(each, may_share) < lost.workers, most(each, may_share), is_small,
                      is_small ? -each.workers : each.workers, each.is_used, each.node != lost.node,
                      was_lost);
  };
  return std::ranges::min_element(rooms, {}, cost_of);
}

// A choice of the least room that is enough never keeps another lost node from finding room.
std::optional<std::vector<int>> one_for_each(const std::vector<NodeWorkers>& lost, Rooms rooms,
                                             bool may_share) {
  std::vector<int> out;
  for (const NodeWorkers& each : lost) {
    const auto best = best_for(each, lost, rooms, may_share);
    if (best == rooms.end() || most(*best, may_share) < each.workers) return std::nullopt;
    out.push_back(best->node);
    rooms.erase(best);
  }
  return out;
}

// The lost nodes with the most workers come first: with less left, the others may still fit.
std::optional<std::vector<int>> several_for_one(const std::vector<NodeWorkers>& lost, Rooms rooms,
                                                bool may_share) {
  std::vector<size_t> order(lost.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return lost[i].workers; });
  std::vector<int> out(lost.size());
  for (const size_t i : order) {
    const auto best = best_for(lost[i], lost, rooms, may_share);
    if (best == rooms.end() || most(*best, may_share) < lost[i].workers) return std::nullopt;
    out[i] = best->node;
    best->workers -= lost[i].workers;
    best->is_used = true;
  }
  return out;
}

}  // namespace

std::optional<std::vector<int>> relocation(const std::vector<NodeWorkers>& lost, const Rooms& rooms,
                                           const Placement& placement) {
  const bool may_share = placement.may_share();
  Rooms unused;
  std::ranges::copy_if(rooms, std::back_inserter(unused),
                       [](const NodeRoom& each) { return !each.is_used; });
  auto found = one_for_each(lost, std::move(unused), may_share);
  if (found || !placement.may_add()) return found;
  found = one_for_each(lost, rooms, may_share);
  return found ? found : several_for_one(lost, rooms, may_share);
}

}  // namespace rtrain::decide
