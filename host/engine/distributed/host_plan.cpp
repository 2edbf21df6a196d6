#include "host/engine/distributed/host_plan.h"

#include <map>

namespace rtrain {

HostPlan plan_hosts(const std::vector<std::string>& addresses) {
  HostPlan out;
  std::map<std::string, int> hosts;
  for (size_t rank = 0; rank < addresses.size(); ++rank) {
    const auto [host, is_new] = hosts.emplace(addresses[rank], out.num_hosts());
    if (is_new) out.ranks.emplace_back();
    out.host_of.push_back(host->second);
    out.ranks[static_cast<size_t>(host->second)].push_back(static_cast<int>(rank));
  }
  return out;
}

}  // namespace rtrain
