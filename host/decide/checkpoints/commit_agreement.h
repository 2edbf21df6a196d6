// host/decide/checkpoints/commit_agreement.h: the step for which all nodes of an attempt are ready
// in train.elastic.
//
// On each node the last rank that becomes ready for a step sends a message. Two ranks may both find
// themselves the last, and their messages arrive in any order: a message about an older step may
// come later. So a node's step never goes down.
//
// Pure: the caller notifies the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace rtrain::decide {

class CommitAgreement {
 public:
  // All ranks of this node are ready for `step`. Returns the step for which all `num_hosts` nodes
  // are ready, when it is higher than the one returned before; else nullopt.
  std::optional<int64_t> on_node_ready(int host, int64_t step, size_t num_hosts);

 private:
  std::map<int, int64_t> ready_;  // by node
  int64_t all_ready_ = 0;
};

}  // namespace rtrain::decide
