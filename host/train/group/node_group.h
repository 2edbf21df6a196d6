// host/train/group/node_group.h: the nodes of one attempt, and which of them has which rank.
//
// Ranks are dense by node, in the order of the nodes. A node knows a process by its **place**, the
// rank with which it was started: where a group continues with fewer ranks (train.elastic) these
// get new numbers, and keep their places. Belongs to the control thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/node/workers/node.h"

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
    std::vector<int> places = {};  // by local rank; set by add()
  };

  // The rank's node.
  const Member& of(int rank) const;
  int place(int rank) const;
  // Nothing for a rank that the group continues without.
  std::optional<int> rank_at(int place) const;
  void add(Member member);
  // Continues with these ranks: what was rank ranks[i] is rank i. Ascending. The processes of the
  // others are gone.
  void keep(const std::vector<int>& ranks);
  // Node::hand_over of all of them, those included that have no rank any more.
  void hand_over(NodeDelegate& delegate);
  const std::vector<Member>& members() const { return members_; }
  uint64_t copied_bytes() const;

 private:
  std::vector<Member> members_;
  // Whoever hears of a host passes it on to its node to the end of the attempt.
  std::vector<std::unique_ptr<Node>> without_ranks_;
};

}  // namespace rtrain
