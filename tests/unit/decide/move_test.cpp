// The state machine of a run in train.elastic with a fixed number of workers: ranks of a lost node
// get processes on another one, while the others live.
#include <gtest/gtest.h>

#include "tests/unit/decide/run_driver.h"

namespace rtrain::decide {
namespace {

using Ranks = std::vector<int>;

// Four workers that hold a commit. Ranks 2 and 3 are on a node that is lost.
class Moving : public RunDriver {
 public:
  explicit Moving(int max_failures = 0, int max_heals = -1)
      : RunDriver(ScalingPolicy::fixed(4), {.max_failures = max_failures},
                  {.max_heals = max_heals, .room_timeout_s = 30}) {
    run();
    for (int rank = 0; rank < 4; ++rank) feed(event::Healable{rank, true});
  }

  Moving& lose(int rank, bool can_move = true) {
    feed(event::Gone{rank, Error(Code::kWorkerLost, "not heard of"), 1, false, can_move});
    return *this;
  }
  Moving& unwind(int rank) {
    feed(event::Unwound{
        rank, {.step = 7, .index = 3, .error = Error(Code::kPeerLost, "lost"), .time_s = 2}});
    return *this;
  }
  // The node is lost, the others are back, and the next attempt's row is written.
  Moving& lose_node() {
    lose(2).lose(3).unwind(0).unwind(1).feed(event::AttemptEnded{false});
    feed(event::AttemptBegun{});
    return *this;
  }
  Moving& find_room(Ranks ranks) {
    feed(event::RoomFound{attempt(), std::move(ranks)});
    return *this;
  }
};

// behaviour: a lost node costs no step where another one has room
TEST(Move, TheRanksOfALostNodeGoOnOnAnotherOne) {
  Moving d;
  d.lose(2);
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kMoved);
  EXPECT_EQ(d.find<action::Unwind>()->rank, 2);
  d.lose(3).unwind(0).unwind(1);
  ASSERT_TRUE(d.find<action::EndHealed>());
  d.feed(event::AttemptEnded{false}).feed(event::AttemptBegun{});
  ASSERT_TRUE(d.find<action::FindRoom>());
  EXPECT_EQ(d.find<action::FindRoom>()->ranks, (Ranks{2, 3}));
  EXPECT_EQ(d.find<action::SetDeadline>()->seconds, 30);
  EXPECT_FALSE(d.find<action::HealGroup>());
  d.find_room({2, 3});
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (Ranks{2, 3}));
  EXPECT_EQ(d.find<action::HealGroup>()->moved, (Ranks{2, 3}));
  for (const int rank : {2, 3}) {
    d.feed(event::PhaseReached{rank, Phase::kHello});
    d.feed(event::PhaseReached{rank, Phase::kRunning});
  }
  for (int rank = 0; rank < 4; ++rank) d.feed(event::Healable{rank, true});
  EXPECT_TRUE(d.find<action::TellHealed>());
  EXPECT_EQ(d.state(), RunState::kRunning);
}

TEST(Move, ARankOfALivingNodeStaysThere) {
  Moving d;
  d.feed(event::Dying{1, 1}).feed(event::Gone{1, Error(Code::kWorkerLost, "killed"), 1});
  d.lose(2).lose(3).unwind(0).feed(event::AttemptEnded{false}).feed(event::AttemptBegun{});
  EXPECT_EQ(d.find<action::FindRoom>()->ranks, (Ranks{2, 3}));
  d.find_room({2, 3});
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (Ranks{1, 2, 3}));
  EXPECT_EQ(d.find<action::HealGroup>()->moved, (Ranks{2, 3}));
}

TEST(Move, WithoutRoomInTimeTheGroupRestarts) {
  Moving d(1);
  d.lose_node().feed(event::DeadlinePassed{2});
  ASSERT_TRUE(d.find<action::TellNoRoom>());
  EXPECT_EQ(d.find<action::TellNoRoom>()->ranks, (Ranks{2, 3}));
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.find_room({2, 3});
  EXPECT_FALSE(d.has_acted()) << "too late";
  d.die(0).die(1);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->rank, 2);
  d.feed(event::AttemptEnded{false});
  EXPECT_TRUE(d.find<action::TellFailure>()->decision.retry);
}

TEST(Move, ANodeThatIsLostMeanwhileNeedsRoomToo) {
  Moving d;
  d.lose_node().lose(1).feed(event::HealDue{2});
  ASSERT_TRUE(d.find<action::FindRoom>());
  EXPECT_EQ(d.find<action::FindRoom>()->ranks, (Ranks{1, 2, 3}));
  d.find_room({2, 3});
  EXPECT_FALSE(d.has_acted()) << "there is no room for rank 1";
  d.find_room({1, 2, 3});
  EXPECT_EQ(d.find<action::HealGroup>()->moved, (Ranks{1, 2, 3}));
}

TEST(Move, TheTimeForRoomBeginsAgainWhenAnotherNodeIsLost) {
  Moving d;
  d.lose_node().lose(1).feed(event::DeadlinePassed{2});
  EXPECT_FALSE(d.has_acted());
  d.feed(event::HealDue{2});
  ASSERT_TRUE(d.find<action::SetDeadline>());
  EXPECT_EQ(d.find<action::SetDeadline>()->seconds, 30);
  d.feed(event::DeadlinePassed{2});
  ASSERT_TRUE(d.find<action::TellNoRoom>());
  EXPECT_EQ(d.find<action::TellNoRoom>()->ranks, (Ranks{1, 2, 3}));
}

TEST(Move, ALostRankThatHasNotEndedIsWaitedForAfterRoomIsFound) {
  Moving d;
  d.lose_node().feed(event::Dying{1, 3}).feed(event::RoomFound{2, {2, 3}});
  EXPECT_FALSE(d.find<action::HealGroup>());
  d.feed(event::DeadlinePassed{2});
  EXPECT_FALSE(d.has_acted()) << "there is room";
  d.feed(event::Gone{1, Error(Code::kWorkerLost, "killed"), 4}).feed(event::HealDue{2});
  EXPECT_TRUE(d.find<action::HealGroup>());
}

TEST(Move, ARunThatIsAskedToStopWaitsForNoNode) {
  Moving d;
  d.lose_node().feed(event::StopRequested{StopKind::kTerminate});
  ASSERT_TRUE(d.find<action::SetDeadline>());
  EXPECT_EQ(d.find<action::SetDeadline>()->seconds, 0);
  d.feed(event::DeadlinePassed{2});
  EXPECT_EQ(d.die(0).die(1).find<action::EndAttempt>()->status, RunState::kAborted);
  Moving before;
  before.lose(2).lose(3).feed(event::StopRequested{StopKind::kTerminate});
  before.unwind(0).unwind(1).feed(event::AttemptEnded{false}).feed(event::AttemptBegun{});
  EXPECT_EQ(before.find<action::SetDeadline>()->seconds, 0);
  before.find_room({2, 3});
  EXPECT_TRUE(before.find<action::HealGroup>()) << "it can save a checkpoint";
}

TEST(Move, WithoutACopyOfTheirStateTheGroupRestarts) {
  Moving d(1);
  d.lose(2, false);
  EXPECT_FALSE(d.find<action::Unwind>());
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Move, IsChargedToMaxHeals) {
  Moving d(1, 0);
  d.lose(2);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Move, AnElasticGroupBecomesSmallerInstead) {
  RunDriver d(ScalingPolicy::elastic(1, 2, 60), {}, {.max_heals = -1});
  d.run().feed(event::Healable{0, true}).feed(event::Healable{1, true});
  d.feed(event::Gone{1, Error(Code::kWorkerLost, "not heard of"), 1, false, true});
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kLeftOut);
}

}  // namespace
}  // namespace rtrain::decide
