#include "host/engine/distributed/given_collectives.h"

#include <utility>

namespace rtrain::engine {

void GivenCollectives::add(GivenCollective given) {
  const std::lock_guard lock(mutex_);
  latest_ = given.sequence;
  GivenCollective& place = ring_[given.sequence % kKept];
  place = std::move(given);
}

std::optional<GivenCollective> GivenCollectives::find(uint64_t sequence) const {
  const std::lock_guard lock(mutex_);
  const GivenCollective& found = ring_[sequence % kKept];
  if (found.sequence != sequence || found.text.empty()) return std::nullopt;
  return found;
}

std::optional<GivenCollective> GivenCollectives::latest() const {
  uint64_t sequence = 0;
  {
    const std::lock_guard lock(mutex_);
    sequence = latest_;
  }
  return find(sequence);
}

}  // namespace rtrain::engine
