// Groups keep the order that the memory of calls demands.
#include "host/compile/grouping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rtrain::compile {
namespace {

using Order = std::vector<std::vector<size_t>>;

constexpr size_t kMany = 32;

GroupedCall pointwise(std::vector<int> reads, int writes) {
  return {.reads = std::move(reads), .writes = {writes}, .shape = 0};
}

GroupedCall other(std::vector<int> reads, int writes) {
  return {.reads = std::move(reads), .writes = {writes}, .shape = -1};
}

TEST(Grouping, NeighboursBecomeOneGroup) {
  EXPECT_EQ(group_calls({pointwise({0}, 1), pointwise({1}, 2), pointwise({2}, 3)}, kMany),
            (Order{{0, 1, 2}}));
}

TEST(Grouping, ACallThatNeedsTheGroupEndsIt) {
  EXPECT_EQ(group_calls({pointwise({0}, 1), other({1}, 2), pointwise({2}, 3)}, kMany),
            (Order{{0}, {1}, {2}}));
}

TEST(Grouping, ACallOfOtherMemoryRunsBeforeTheGroup) {
  EXPECT_EQ(group_calls({pointwise({0}, 1), other({8}, 9), pointwise({1, 9}, 2)}, kMany),
            (Order{{1}, {0, 2}}));
}

TEST(Grouping, ACallThatChangesWhatTheGroupReadsEndsIt) {
  EXPECT_EQ(group_calls({pointwise({0}, 1), other({8}, 0), pointwise({0, 1}, 2)}, kMany),
            (Order{{0}, {1}, {2}}));
}

TEST(Grouping, ShapesHaveGroupsOfTheirOwn) {
  const auto shaped = [](int shape, int reads, int writes) {
    return GroupedCall{.reads = {reads}, .writes = {writes}, .shape = shape};
  };
  EXPECT_EQ(
      group_calls({shaped(0, 0, 1), shaped(1, 5, 6), shaped(0, 1, 2), shaped(1, 6, 7)}, kMany),
      (Order{{0, 2}, {1, 3}}));
}

TEST(Grouping, AFullGroupEnds) {
  const std::vector<GroupedCall> calls(5, pointwise({0}, 0));
  EXPECT_EQ(group_calls(calls, 2), (Order{{0, 1}, {2, 3}, {4}}));
}

TEST(Grouping, ALaterCallOfTheGroupsMemoryJoinsItBeforeItEnds) {
  EXPECT_EQ(group_calls({pointwise({0}, 1), other({1}, 2), pointwise({0}, 3)}, kMany),
            (Order{{0, 2}, {1}}));
  EXPECT_EQ(
      group_calls({pointwise({0}, 1), other({1}, 2), other({2}, 3), pointwise({1}, 4)}, kMany),
      (Order{{0, 3}, {1}, {2}}));
}

TEST(Grouping, ALaterCallThatNeedsOneBetweenWaits) {
  EXPECT_EQ(group_calls({pointwise({0}, 1), other({1}, 2), pointwise({1, 2}, 3)}, kMany),
            (Order{{0}, {1}, {2}}));
  EXPECT_EQ(group_calls({pointwise({0}, 1), other({1}, 2), pointwise({0}, 2)}, kMany),
            (Order{{0}, {1}, {2}}));
  EXPECT_EQ(group_calls({pointwise({0}, 1), other({1, 7}, 2), pointwise({1}, 7)}, kMany),
            (Order{{0}, {1}, {2}}))
      << "it changes what the one between reads";
}

TEST(Grouping, ACallOfOtherMemoryDoesNotMove) {
  EXPECT_EQ(group_calls({pointwise({0}, 1), other({1}, 2), pointwise({8}, 9)}, kMany),
            (Order{{0}, {1}, {2}}));
}

TEST(Grouping, ACallOfRowsJoinsTheGroupWhoseMemoryItReads) {
  GroupedCall full{.reads = {0}, .writes = {1}, .shape = 0, .rows = 1, .has_rows = true};
  const GroupedCall later{.reads = {0, 2}, .writes = {3}, .shape = 0, .rows = 1};
  const auto of_rows = [](int reads) {
    return GroupedCall{.reads = {reads}, .writes = {2}, .shape = 1};
  };
  EXPECT_EQ(group_calls({full, of_rows(1), later}, kMany), (Order{{0, 1, 2}}));
  EXPECT_EQ(group_calls({full, of_rows(0), later}, kMany), (Order{{0, 1, 2}}));
  EXPECT_EQ(group_calls({full, of_rows(8), later}, kMany), (Order{{1}, {0, 2}}));
  full.has_rows = false;
  EXPECT_EQ(group_calls({full, of_rows(1), later}, kMany), (Order{{0}, {1}, {2}}));
}

TEST(Grouping, AViewJoinsOnlyTheGroupThatComputesItsNumbers) {
  const auto view = [](int reads) {
    return GroupedCall{.reads = {reads}, .writes = {20}, .shape = 0, .is_view = true};
  };
  EXPECT_EQ(group_calls({pointwise({0}, 1), view(1), pointwise({1, 20}, 2)}, kMany),
            (Order{{0, 1, 2}}));
  EXPECT_EQ(group_calls({pointwise({0}, 1), view(0), pointwise({1, 20}, 2)}, kMany),
            (Order{{1}, {0, 2}}));
  EXPECT_EQ(group_calls({view(0), pointwise({20}, 1)}, kMany), (Order{{0}, {1}}));
}

bool has_common(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::any_of(a, [&](int item) { return std::ranges::count(b, item) > 0; });
}

bool must_stay_before(const GroupedCall& first, const GroupedCall& second) {
  return has_common(first.writes, second.reads) || has_common(first.writes, second.writes) ||
         has_common(first.reads, second.writes);
}

TEST(Grouping, RandomListsKeepTheirOrder) {
  std::mt19937 random(1);
  const auto draw = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<GroupedCall> calls;
    for (int i = draw(30); i > 0; --i) {
      const int shape = draw(4) - 1;
      calls.push_back({.reads = {draw(8), draw(8)},
                       .writes = {draw(8)},
                       .shape = shape,
                       .rows = shape == 0 ? 2 : -1,
                       .has_rows = draw(2) == 0,
                       .is_view = draw(8) == 0});
    }
    std::vector<size_t> places(calls.size(), calls.size());
    size_t place = 0;
    for (const auto& group : group_calls(calls, 4)) {
      ASSERT_LE(group.size(), 4);
      for (const size_t member : group) {
        ASSERT_EQ(places[member], calls.size()) << "each call once";
        const GroupedCall& first = calls[group[0]];
        ASSERT_TRUE(calls[member].shape == first.shape || calls[member].shape == first.rows);
        places[member] = place++;
      }
    }
    ASSERT_EQ(place, calls.size());
    for (size_t a = 0; a < calls.size(); ++a) {
      for (size_t b = a + 1; b < calls.size(); ++b) {
        const bool is_ordered = places[a] < places[b];
        ASSERT_TRUE(is_ordered || !must_stay_before(calls[a], calls[b]));
      }
    }
  }
}

}  // namespace
}  // namespace rtrain::compile
