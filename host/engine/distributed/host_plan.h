// host/engine/distributed/host_plan.h: which ranks of a group are on one host. Pure: the same on
// every rank.
#pragma once

#include <string>
#include <vector>

namespace rtrain {

struct HostPlan {
  std::vector<int> host_of;             // by rank; hosts count in the order of their first ranks
  std::vector<std::vector<int>> ranks;  // by host, ascending; the first one speaks for the host

  int num_hosts() const { return static_cast<int>(ranks.size()); }
  // The ranks of that one's host, and where it stands among them.
  const std::vector<int>& neighbours(int rank) const;
  int place_of(int rank) const;
  // Whether two ranks are on one host.
  bool has_neighbours() const { return ranks.size() < host_of.size(); }
};

// `addresses`: by rank, of its host.
HostPlan plan_hosts(const std::vector<std::string>& addresses);

}  // namespace rtrain
