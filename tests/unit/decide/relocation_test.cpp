// Which node takes the workers of a lost one.
#include "host/decide/relocation.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

using Nodes = std::vector<int>;

TEST(Relocation, ANodeInReserveTakesTheWorkersOfALostOne) {
  EXPECT_EQ(relocation({{1, 2}}, {{2, 2}}, false), Nodes{2});
  EXPECT_EQ(relocation({{1, 2}}, {}, false), std::nullopt);
  EXPECT_EQ(relocation({{1, 2}}, {{2, 1}}, false), std::nullopt);
}

TEST(Relocation, TheLostNodeItselfIsPreferredWhenItIsBack) {
  EXPECT_EQ(relocation({{1, 2}}, {{2, 2}, {1, 2}, {3, 2}}, false), Nodes{1});
  EXPECT_EQ(relocation({{1, 2}, {2, 2}}, {{2, 2}, {3, 2}}, false), (Nodes{3, 2}));
  EXPECT_EQ(relocation({{1, 2}}, {{1, 1}, {2, 2}}, false), Nodes{2}) << "it has lost cores";
}

TEST(Relocation, NoLostNodeTakesMoreRoomThanItNeeds) {
  EXPECT_EQ(relocation({{1, 4}, {2, 1}}, {{3, 4}, {4, 1}}, false), (Nodes{3, 4}));
  EXPECT_EQ(relocation({{1, 1}, {2, 4}}, {{1, 4}, {4, 1}}, false), (Nodes{4, 1}));
  EXPECT_EQ(relocation({{1, 1}, {2, 1}}, {{3, 2}}, false), std::nullopt) << "one for each";
}

TEST(Relocation, WorkersThatMayShareCoresFitEverywhere) {
  EXPECT_EQ(relocation({{1, 4}}, {{2, 1}, {3, 2}}, true), Nodes{3}) << "most room";
  EXPECT_EQ(relocation({{1, 4}, {2, 4}}, {{3, 0}}, true), std::nullopt);
}

TEST(Relocation, ANodeThatHasWorkersTakesMoreWhereNoOtherOneIsThere) {
  EXPECT_EQ(relocation({{1, 2}}, {{0, 2, true}, {2, 4}}, false), Nodes{2});
  EXPECT_EQ(relocation({{1, 2}}, {{0, 3, true}, {2, 2, true}, {3, 1}}, false), Nodes{2});
  EXPECT_EQ(relocation({{1, 2}}, {{0, 1, true}}, false), std::nullopt);
  EXPECT_EQ(relocation({{1, 1}, {2, 4}}, {{0, 1, true}, {3, 4}}, false), (Nodes{0, 3}));
  EXPECT_EQ(relocation({{1, 1}, {2, 1}}, {{0, 2, true}}, false), std::nullopt) << "one for each";
}

TEST(Relocation, NoWorkersShareTheCoresOfANodeThatHasOthers) {
  EXPECT_EQ(relocation({{1, 2}}, {{0, 1, true}}, true), std::nullopt);
  EXPECT_EQ(relocation({{1, 1}, {2, 4}}, {{3, 1}, {0, 1, true}}, true), (Nodes{0, 3}));
}

}  // namespace
}  // namespace rtrain::decide
