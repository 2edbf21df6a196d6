#include "host/train/group/node_group.h"

#include "host/base/error.h"

namespace rtrain {

const NodeGroup::Member& NodeGroup::of(int rank) const {
  for (const Member& member : members_) {
    if (rank >= member.first_rank && rank < member.first_rank + member.num_workers) return member;
  }
  RT_CHECK(false);
  return members_.front();
}

uint64_t NodeGroup::copied_bytes() const {
  uint64_t sum = 0;
  for (const Member& member : members_) sum += member.node->copied_bytes();
  return sum;
}

std::vector<int> spread_workers(int num_workers, int num_nodes) {
  std::vector<int> out;
  for (int node = 0; node < num_nodes; ++node) {
    out.push_back(num_workers / num_nodes + (node < num_workers % num_nodes ? 1 : 0));
  }
  return out;
}

}  // namespace rtrain
