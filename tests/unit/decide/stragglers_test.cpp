#include "host/decide/stragglers.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

// Ranks that enter one collective every `step_s` seconds.
struct Group {
  explicit Group(int num_ranks) : ranks(static_cast<size_t>(num_ranks)), stragglers(num_ranks) {}

  // `late_s`: how much later than the others each rank arrives.
  std::vector<Straggler> run(int steps, const std::vector<double>& late_s, double step_s = 0.1) {
    std::vector<Straggler> out;
    for (int i = 0; i < steps; ++i) {
      now_s += step_s;
      ++sequence;
      for (size_t rank = 0; rank < ranks.size(); ++rank) {
        CollectiveFacts call;
        call.sequence = sequence;
        call.time_s = now_s + late_s[rank];
        ranks[rank].calls = {call};
      }
      if (const auto found = stragglers.look(ranks)) out.push_back(*found);
    }
    return out;
  }

  std::vector<RankFacts> ranks;
  Stragglers stragglers;
  uint64_t sequence = 0;
  double now_s = 100;
};

TEST(Stragglers, TheRankThatComesLastIsNamedOnce) {
  Group group(4);
  const auto found = group.run(200, {0, 0, 0.03, 0});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_EQ(found[0].last, found[0].of);
  EXPECT_NEAR(found[0].behind_s, 0.03, 1e-9);
}

TEST(Stragglers, OfTwoRanksToo) {
  Group group(2);
  ASSERT_EQ(group.run(100, {0.05, 0}).size(), 1u);
}

TEST(Stragglers, RanksThatTakeTurnsHoldNobodyUp) {
  Group group(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(group.run(1, {0.03, 0}).empty());
    EXPECT_TRUE(group.run(1, {0, 0.03}).empty());
  }
}

TEST(Stragglers, WhatIsLittleNextToTheStepIsNotNamed) {
  EXPECT_TRUE(Group(2).run(200, {0.015, 0}, 0.1).empty());   // 15 % of the step
  EXPECT_TRUE(Group(2).run(200, {0.005, 0}, 0.01).empty());  // 5 ms
}

TEST(Stragglers, AnotherRankLater) {
  Group group(3);
  EXPECT_EQ(group.run(100, {0.05, 0, 0}).size(), 1u);
  const auto found = group.run(100, {0, 0, 0.05});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, 2);
}

// Facts of a remote node arrive once a second and hold only its latest calls.
TEST(Stragglers, CallsThatAreSeenLaterAreComparedAllTheSame) {
  Group group(2);
  std::vector<Straggler> out;
  for (uint64_t sequence = 1; sequence <= 400; ++sequence) {
    CollectiveFacts call;
    call.sequence = sequence;
    call.time_s = 0.1 * static_cast<double>(sequence);
    group.ranks[0].calls = {call};
    call.time_s += 0.04;
    auto& remote = group.ranks[1].calls;
    if (sequence % 10 == 0) remote.clear();
    if (sequence % 10 > 5) remote.push_back(call);
    if (const auto found = group.stragglers.look(group.ranks)) out.push_back(*found);
  }
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].rank, 1);
}

}  // namespace
}  // namespace rtrain::decide
