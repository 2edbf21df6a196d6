// host/train/group/node_group.h: the nodes of one attempt, and which of them has which rank.
//
// Ranks are dense by node, in the order of the nodes. Belongs to the control thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/node/node.h"

namespace rtrain {

class NodeGroup {
 public:
  struct Member {
    std::unique_ptr<Node> node;
    std::string host;
    std::string address = {};  // at which the other hosts reach it; empty: there are no others
    int number = 0;            // of the host in the job
    int node_rank = 0;
    int first_rank = 0;
    int num_workers = 1;
  };

  // The rank's node.
  const Member& of(int rank) const;
  void add(Member member) { members_.push_back(std::move(member)); }
  const std::vector<Member>& members() const { return members_; }
  uint64_t copied_bytes() const;

 private:
  std::vector<Member> members_;
};

}  // namespace rtrain
