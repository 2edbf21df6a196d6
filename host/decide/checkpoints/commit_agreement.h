// host/decide/checkpoints/commit_agreement.h: how far all nodes of an attempt have come in
// train.elastic.
//
// On each node the last rank that is ready for a step says so. Of several that see it each says it,
// and what they say is read in any order: the one that was first may be a step further by then. So
// a node never goes back.
//
// Pure: the caller tells the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace rtrain::decide {

class CommitAgreement {
 public:
  // All ranks of that node are ready for the step. Returns the step that all of these many nodes
  // have come to, when it is a further one than before.
  std::optional<int64_t> on_node_ready(int host, int64_t step, size_t num_hosts);

 private:
  std::map<int, int64_t> ready_;  // by node
  int64_t all_ready_ = 0;
};

}  // namespace rtrain::decide
