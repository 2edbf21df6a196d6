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

}  // namespace rtrain
