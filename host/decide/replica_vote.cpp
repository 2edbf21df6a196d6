#include "host/decide/replica_vote.h"

#include <algorithm>
#include <optional>

namespace rtrain::decide {
namespace {

std::optional<uint64_t> majority_of(std::span<const uint64_t> hashes) {
  for (const uint64_t hash : hashes) {
    const auto count = static_cast<size_t>(std::ranges::count(hashes, hash));
    if (2 * count > hashes.size()) return hash;
  }
  return std::nullopt;
}

}  // namespace

ReplicaVote vote_of_replicas(std::span<const uint64_t> hashes) {
  const auto believed = majority_of(hashes);
  ReplicaVote vote;
  for (size_t rank = 0; rank < hashes.size(); ++rank) {
    if (hashes[rank] != believed) {
      vote.differing.push_back(static_cast<int>(rank));
    } else if (vote.source < 0) {
      vote.source = static_cast<int>(rank);
    }
  }
  return vote;
}

}  // namespace rtrain::decide
