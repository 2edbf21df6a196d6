#include "host/decide/spare.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

using Order = Spare::Order;

TEST(Spare, IsMadeASecondAfterAllRanksHoldACommit) {
  Spare spare;
  EXPECT_EQ(spare.next(5, false), Order::kNone);
  spare.on_settled(10);
  EXPECT_EQ(spare.next(10.5, false), Order::kNone);
  EXPECT_EQ(spare.next(11, false), Order::kMake);
  EXPECT_EQ(spare.next(12, true), Order::kNone);
}

TEST(Spare, IsNotMadeDuringAHealAndIsMadeAgainAfterIt) {
  Spare spare;
  spare.on_settled(0);
  EXPECT_EQ(spare.next(1, false), Order::kMake);
  spare.on_lost();
  EXPECT_EQ(spare.next(2, false), Order::kNone);
  spare.on_settled(3);
  EXPECT_EQ(spare.next(4, false), Order::kMake) << "the one that was used counts as no failure";
}

TEST(Spare, ThatWasNotUsedInAHealIsKept) {
  Spare spare;
  spare.on_settled(0);
  EXPECT_EQ(spare.next(1, false), Order::kMake);
  spare.on_lost();
  spare.on_settled(2);
  EXPECT_EQ(spare.next(9, true), Order::kNone);
}

TEST(Spare, ThatEndsByItselfIsMadeAgainLaterAndLater) {
  Spare spare;
  spare.on_settled(0);
  double made_s = 0;
  double last_gap_s = 0;
  for (double now_s = 1; now_s < 20000; ++now_s) {
    if (spare.next(now_s, false) != Order::kMake) continue;
    const double gap_s = now_s - made_s;
    EXPECT_GE(gap_s, last_gap_s);
    EXPECT_LE(gap_s, 3602);
    last_gap_s = gap_s;
    made_s = now_s;
  }
  EXPECT_GE(last_gap_s, 3600);
}

TEST(Spare, IsEndedWhenNoRankWillBeReplaced) {
  Spare spare;
  spare.on_settled(0);
  EXPECT_EQ(spare.next(1, false), Order::kMake);
  spare.on_over();
  EXPECT_EQ(spare.next(2, true), Order::kDrop);
  EXPECT_EQ(spare.next(99, false), Order::kNone);
}

TEST(Spare, IsAffordableWhereHalfOfTheFreeMemoryAndACoreAreLeft) {
  const SpareCost cost{.bytes = 100, .available_bytes = 200, .may_be_nice = true};
  EXPECT_TRUE(is_affordable(cost));
  SpareCost other = cost;
  other.available_bytes = 199;
  EXPECT_FALSE(is_affordable(other));
  other = cost;
  other.has_devices = true;
  EXPECT_FALSE(is_affordable(other));
  other = cost;
  other.may_be_nice = false;
  EXPECT_FALSE(is_affordable(other));
  other.idle_cores = 1;
  EXPECT_TRUE(is_affordable(other));
}

}  // namespace
}  // namespace rtrain::decide
