// host/decide/replica_vote.h: which replicas have lost the state that all should have, by their
// hashes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rtrain::decide {

// More than half of the ranks are believed, since what damages a replica damages it alone.
struct ReplicaVote {
  std::vector<int> differing;  // ranks whose hash is not the believed one; all without a majority
  int source = -1;             // the first rank that is believed; -1 without a majority
};

// `hashes`: by rank.
ReplicaVote vote_of_replicas(std::span<const uint64_t> hashes);

}  // namespace rtrain::decide
