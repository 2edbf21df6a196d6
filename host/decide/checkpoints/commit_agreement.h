// host/decide/checkpoints/commit_agreement.h: how far all hosts of an attempt have come in
// train.elastic.
//
// On each host the last rank that is ready for a step says so. Of several that see it each says it,
// and what they say is read in any order: the one that was first may be a step further by then. So
// a host never goes back.
//
// Pure: the caller tells the hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace rtrain {

class CommitAgreement {
 public:
  // All ranks of that host are ready for the step. Returns the step that all of these many hosts
  // have come to, when it is a further one than before.
  std::optional<int64_t> on_host_ready(int host, int64_t step, size_t num_hosts);

 private:
  std::map<int, int64_t> ready_;  // by host
  int64_t all_ready_ = 0;
};

}  // namespace rtrain
