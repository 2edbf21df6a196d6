#include "host/engine/distributed/node_plan.h"

#include <algorithm>
#include <map>

namespace rtrain::engine {

const std::vector<int>& NodePlan::neighbours(int rank) const {
  return ranks[static_cast<size_t>(host_of[static_cast<size_t>(rank)])];
}

int NodePlan::place_of(int rank) const {
  const std::vector<int>& all = neighbours(rank);
  return static_cast<int>(std::ranges::find(all, rank) - all.begin());
}

NodePlan plan_nodes(const std::vector<std::string>& names) {
  NodePlan out;
  std::map<std::string, int> hosts;
  for (size_t rank = 0; rank < names.size(); ++rank) {
    const auto [host, is_new] = hosts.emplace(names[rank], out.num_hosts());
    if (is_new) out.ranks.emplace_back();
    out.host_of.push_back(host->second);
    out.ranks[static_cast<size_t>(host->second)].push_back(static_cast<int>(rank));
  }
  return out;
}

}  // namespace rtrain::engine
