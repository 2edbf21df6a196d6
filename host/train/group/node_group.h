// host/train/group/node_group.h: the nodes of one attempt and their ranks.
//
// Ranks are dense by node, in the order of the nodes. A node identifies a process by its **place**,
// the rank with which it was started: if a group continues with fewer ranks (train.elastic),
// processes get new ranks and keep their places. Belongs to the control thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/decide/spare.h"
#include "host/node/workers/node.h"

namespace rtrain::train {

class NodeGroup {
 public:
  struct Member {
    std::unique_ptr<node::Node> node;
    std::string name;
    std::string address = {};   // for the other nodes; empty: there are none
    std::string far_path = {};  // its own folder for the run, if it does not see node 0's
    int number = 0;             // the node's number in the job
    int node_rank = 0;
    int first_rank = 0;
    int num_workers = 1;
    std::vector<int> places = {};  // by local rank; set by add()
    bool is_moved = false;         // set by move(); until the next keep()
    decide::Spare spare = {};

    // Whether it has one of these ranks.
    bool has_any(const std::vector<int>& ranks) const;
  };

  // The rank's node.
  const Member& of(int rank) const;
  int place(int rank) const;
  // nullopt for a rank that the group has left out.
  std::optional<int> rank_at(int place) const;
  void add(Member member);
  // Continues with these ranks, in ascending order: rank ranks[i] becomes rank i. The processes of
  // the others have ended.
  void keep(const std::vector<int>& ranks);
  // A member's ranks go on on another node, of which `to` has what does not depend on the ranks.
  void move(Member& member, Member to);
  // Calls Node::hand_over for all nodes, including those without ranks.
  void hand_over(node::NodeDelegate& delegate);
  const std::vector<Member>& members() const { return members_; }
  std::vector<Member>& members() { return members_; }
  // Whether the member's node has other ranks too.
  bool is_shared(const Member& member) const;
  // The first rank on that node of the job, if it has one.
  std::optional<int> rank_on(int number) const;
  // Whether lost ranks can be replaced while the others live.
  bool can_replace() const;
  uint64_t copied_bytes() const;

 private:
  std::vector<Member> members_;
  // They are kept because events of their machines reach their Nodes until the attempt ends.
  std::vector<std::unique_ptr<node::Node>> without_ranks_;
};

}  // namespace rtrain::train
