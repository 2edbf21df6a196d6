#include "host/decide/checkpoints/commit_agreement.h"

#include <algorithm>

namespace rtrain::decide {

std::optional<int64_t> CommitAgreement::on_node_ready(int host, int64_t step, size_t num_hosts) {
  int64_t& reached = ready_[host];
  reached = std::max(reached, step);
  if (ready_.size() < num_hosts) return std::nullopt;
  int64_t least = reached;
  for (const auto& [each, of_host] : ready_) least = std::min(least, of_host);
  if (least <= all_ready_) return std::nullopt;
  all_ready_ = least;
  return least;
}

}  // namespace rtrain::decide
