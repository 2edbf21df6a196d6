#include "host/decide/replica_vote.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rtrain::decide {
namespace {

using Ranks = std::vector<int>;

ReplicaVote vote(std::vector<uint64_t> hashes) { return vote_of_replicas(hashes); }

TEST(ReplicaVote, RanksThatAgreeAreBelieved) {
  for (const size_t count : {1, 2, 3, 16}) {
    const ReplicaVote found = vote(std::vector<uint64_t>(count, 7));
    EXPECT_TRUE(found.differing.empty());
    EXPECT_EQ(found.source, 0);
  }
}

TEST(ReplicaVote, OneOfThreeDiffers) {
  EXPECT_EQ(vote({5, 7, 7}).differing, Ranks{0});
  EXPECT_EQ(vote({5, 7, 7}).source, 1);
  EXPECT_EQ(vote({7, 7, 5}).differing, Ranks{2});
}

TEST(ReplicaVote, WithoutAMajorityNobodyIsBelieved) {
  for (const auto& hashes : {std::vector<uint64_t>{1, 2}, {1, 1, 2, 2}, {1, 2, 3}, {1, 1, 2, 3}}) {
    const ReplicaVote found = vote(hashes);
    EXPECT_EQ(found.source, -1);
    EXPECT_EQ(found.differing.size(), hashes.size());
  }
}

// Whatever happens to fewer than half of the ranks, exactly these are found.
TEST(ReplicaVote, TheDamagedRanksAreFoundInRandomGroups) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const size_t count = 3 + random() % 30;
    std::vector<uint64_t> hashes(count, random());
    std::vector<int> ranks(count);
    for (size_t rank = 0; rank < count; ++rank) ranks[rank] = static_cast<int>(rank);
    std::ranges::shuffle(ranks, random);
    ranks.resize(random() % ((count + 1) / 2));
    std::ranges::sort(ranks);
    // Two damaged ranks may be damaged in the same way.
    for (const int rank : ranks) hashes[static_cast<size_t>(rank)] ^= 1 + random() % 3;
    const ReplicaVote found = vote(hashes);
    ASSERT_EQ(found.differing, ranks);
    ASSERT_GE(found.source, 0);
    ASSERT_FALSE(std::ranges::binary_search(ranks, found.source));
  }
}

}  // namespace
}  // namespace rtrain::decide
