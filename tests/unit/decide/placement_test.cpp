#include "host/decide/placement.h"

#include <gtest/gtest.h>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

using Counts = std::vector<int>;

std::vector<NodeCapacity> rooms(const Counts& workers) {
  std::vector<NodeCapacity> out;
  for (const int count : workers) {
    out.push_back({cat("n", out.size()), count});
  }
  return out;
}

Counts placed(PlacementStrategy strategy, int workers, const Counts& room) {
  return Placement(strategy, true).counts(workers, rooms(room));
}

TEST(Placement, SpreadGivesOneToEachNodeInTurn) {
  EXPECT_EQ(placed(PlacementStrategy::kSpread, 4, {4, 4}), (Counts{2, 2}));
  EXPECT_EQ(placed(PlacementStrategy::kSpread, 5, {4, 4, 4}), (Counts{2, 2, 1}));
  EXPECT_EQ(placed(PlacementStrategy::kSpread, 1, {4, 4}), (Counts{1, 0}));
  EXPECT_EQ(placed(PlacementStrategy::kSpread, 3, {4}), Counts{3});
}

TEST(Placement, ANodeThatIsFullIsPassedOver) {
  EXPECT_EQ(placed(PlacementStrategy::kSpread, 6, {8, 2}), (Counts{4, 2}));
  EXPECT_EQ(placed(PlacementStrategy::kSpread, 3, {0, 3}), (Counts{0, 3}));
}

TEST(Placement, PackFillsOneNodeAfterTheOther) {
  EXPECT_EQ(placed(PlacementStrategy::kPack, 5, {4, 4, 4}), (Counts{4, 1, 0}));
  EXPECT_EQ(placed(PlacementStrategy::kPack, 4, {4, 4}), (Counts{4, 0}));
}

TEST(Placement, WorkersThatShareCoresAreSpreadWhenEveryNodeIsFull) {
  EXPECT_EQ(placed(PlacementStrategy::kSpread, 6, {1, 1}), (Counts{3, 3}));
  EXPECT_EQ(placed(PlacementStrategy::kPack, 5, {2, 1}), (Counts{3, 2}));
}

TEST(Placement, StrictPackTakesTheFirstNodeThatHasRoom) {
  EXPECT_EQ(placed(PlacementStrategy::kStrictPack, 3, {2, 4, 8}), (Counts{0, 3, 0}));
  EXPECT_EQ(placed(PlacementStrategy::kStrictPack, 9, {2, 4, 8}), (Counts{0, 0, 9}));
}

TEST(Placement, StrictSpreadGivesEachNodeOne) {
  EXPECT_EQ(placed(PlacementStrategy::kStrictSpread, 2, {4, 4, 4}), (Counts{1, 1, 0}));
}

TEST(Placement, StrictSpreadTakesANodeWithoutRoomRatherThanOneTwice) {
  EXPECT_EQ(placed(PlacementStrategy::kStrictSpread, 2, {3, 0}), (Counts{1, 1}));
  EXPECT_EQ(placed(PlacementStrategy::kStrictSpread, 1, {0, 3}), (Counts{0, 1}));
}

TEST(Placement, TheMostWorkersOfEachStrategy) {
  const auto room = rooms({4, 2});
  EXPECT_EQ(Placement(PlacementStrategy::kSpread, false).most(room, 100), 6);
  EXPECT_EQ(Placement(PlacementStrategy::kPack, false).most(room, 5), 5);
  EXPECT_EQ(Placement(PlacementStrategy::kStrictPack, false).most(room, 100), 4);
  EXPECT_EQ(Placement(PlacementStrategy::kStrictSpread, false).most(room, 100), 2);
  EXPECT_EQ(Placement(PlacementStrategy::kSpread, true).most(room, 100), 100);
  EXPECT_EQ(Placement(PlacementStrategy::kStrictSpread, true).most(room, 100), 2);
}

std::string refusal(PlacementStrategy strategy, bool may_share, int workers, const Counts& room) {
  const auto error = Placement(strategy, may_share).impossible(workers, rooms(room));
  return error ? std::string(error->message()) : "";
}

TEST(Placement, WhatNodesCannotHaveIsRefusedWithTheNumbers) {
  EXPECT_EQ(refusal(PlacementStrategy::kSpread, false, 6, {4, 2}), "");
  EXPECT_EQ(refusal(PlacementStrategy::kSpread, false, 7, {4, 2}),
            "7 workers do not fit on the job's nodes; their cores or devices are for n0: 4, n1: 2");
  EXPECT_EQ(refusal(PlacementStrategy::kStrictPack, false, 5, {4, 2}),
            "placement_strategy = 'STRICT_PACK': 5 workers do not fit on one node; their cores or "
            "devices are for n0: 4, n1: 2");
  EXPECT_EQ(refusal(PlacementStrategy::kStrictSpread, true, 3, {4, 2}),
            "placement_strategy = 'STRICT_SPREAD': 3 workers need as many nodes; there are 2");
  EXPECT_EQ(refusal(PlacementStrategy::kPack, true, 100, {4, 2}), "");
}

}  // namespace
}  // namespace rtrain::decide
