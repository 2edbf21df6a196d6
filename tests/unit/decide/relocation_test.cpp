// Which node takes the workers of a lost one.
#include "host/decide/relocation.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

using Nodes = std::vector<int>;
const Placement kApart(PlacementStrategy::kSpread, false);
const Placement kShared(PlacementStrategy::kSpread, true);  // workers may share cores

TEST(Relocation, ANodeInReserveTakesTheWorkersOfALostOne) {
  EXPECT_EQ(relocation({{1, 2}}, {{2, 2}}, kApart), Nodes{2});
  EXPECT_EQ(relocation({{1, 2}}, {}, kApart), std::nullopt);
  EXPECT_EQ(relocation({{1, 2}}, {{2, 1}}, kApart), std::nullopt);
}

TEST(Relocation, TheLostNodeItselfIsPreferredWhenItIsBack) {
  EXPECT_EQ(relocation({{1, 2}}, {{2, 2}, {1, 2}, {3, 2}}, kApart), Nodes{1});
  EXPECT_EQ(relocation({{1, 2}, {2, 2}}, {{2, 2}, {3, 2}}, kApart), (Nodes{3, 2}));
  EXPECT_EQ(relocation({{1, 2}}, {{1, 1}, {2, 2}}, kApart), Nodes{2}) << "it has lost cores";
}

TEST(Relocation, NoLostNodeTakesMoreRoomThanItNeeds) {
  EXPECT_EQ(relocation({{1, 4}, {2, 1}}, {{3, 4}, {4, 1}}, kApart), (Nodes{3, 4}));
  EXPECT_EQ(relocation({{1, 1}, {2, 4}}, {{1, 4}, {4, 1}}, kApart), (Nodes{4, 1}));
}

TEST(Relocation, WorkersThatMayShareCoresFitEverywhere) {
  EXPECT_EQ(relocation({{1, 4}}, {{2, 1}, {3, 2}}, kShared), Nodes{3}) << "most room";
  EXPECT_EQ(relocation({{1, 4}, {2, 4}}, {{3, 0}}, kShared), std::nullopt);
}

TEST(Relocation, ANodeThatHasWorkersTakesMoreWhereNoOtherOneIsThere) {
  EXPECT_EQ(relocation({{1, 2}}, {{0, 2, true}, {2, 4}}, kApart), Nodes{2});
  EXPECT_EQ(relocation({{1, 2}}, {{0, 3, true}, {2, 2, true}, {3, 1}}, kApart), Nodes{2});
  EXPECT_EQ(relocation({{1, 2}}, {{0, 1, true}}, kApart), std::nullopt);
  EXPECT_EQ(relocation({{1, 1}, {2, 4}}, {{0, 1, true}, {3, 4}}, kApart), (Nodes{0, 3}));
}

TEST(Relocation, OneNodeTakesTheWorkersOfSeveralWhereThereIsNoOtherOneForEach) {
  EXPECT_EQ(relocation({{1, 1}, {2, 1}}, {{3, 2}}, kApart), (Nodes{3, 3}));
  EXPECT_EQ(relocation({{1, 1}, {2, 1}}, {{0, 2, true}}, kApart), (Nodes{0, 0}));
  EXPECT_EQ(relocation({{1, 1}, {2, 1}}, {{0, 2, true}, {3, 1}}, kApart), (Nodes{3, 0}));
  EXPECT_EQ(relocation({{1, 1}, {2, 2}}, {{0, 2, true}}, kApart), std::nullopt);
  EXPECT_EQ(relocation({{1, 1}, {2, 2}, {3, 1}}, {{0, 2, true}, {4, 2}}, kApart), (Nodes{0, 4, 0}));
  EXPECT_EQ(relocation({{2, 1}, {2, 1}}, {{2, 2}, {0, 2, true}}, kApart), (Nodes{2, 0}))
      << "of one node, which is back";
}

TEST(Relocation, WorkersThatAreToBeOnNodesOfTheirOwnShareNone) {
  const Placement strict(PlacementStrategy::kStrictSpread, false);
  EXPECT_EQ(relocation({{1, 1}, {2, 1}}, {{3, 2}}, strict), std::nullopt);
  EXPECT_EQ(relocation({{1, 1}}, {{0, 2, true}}, strict), std::nullopt);
  EXPECT_EQ(relocation({{1, 1}}, {{0, 2, true}, {3, 1}}, strict), Nodes{3});
}

TEST(Relocation, NoWorkersShareTheCoresOfANodeThatHasOthers) {
  EXPECT_EQ(relocation({{1, 2}}, {{0, 1, true}}, kShared), std::nullopt);
  EXPECT_EQ(relocation({{1, 1}, {2, 4}}, {{3, 1}, {0, 1, true}}, kShared), (Nodes{0, 3}));
  EXPECT_EQ(relocation({{1, 4}, {2, 1}}, {{3, 4}}, kShared), std::nullopt)
      << "nor of one that gets some";
}

}  // namespace
}  // namespace rtrain::decide
