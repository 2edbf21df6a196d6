#include "host/engine/distributed/given_collectives.h"

#include <utility>

namespace rtrain {

void GivenCollectives::add(GivenCollective given) {
  const std::lock_guard lock(mutex_);
  GivenCollective& place = ring_[given.sequence % kKept];
  place = std::move(given);
}

std::optional<GivenCollective> GivenCollectives::find(uint64_t sequence) const {
  const std::lock_guard lock(mutex_);
  const GivenCollective& found = ring_[sequence % kKept];
  if (found.sequence != sequence || found.text.empty()) return std::nullopt;
  return found;
}

}  // namespace rtrain
