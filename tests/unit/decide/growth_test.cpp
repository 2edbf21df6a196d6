// The state machine of a run in train.elastic that gets more workers: it grows at a commit.
#include <gtest/gtest.h>

#include <random>

#include "host/decide/run/state_machine.h"

namespace rtrain::decide {
namespace {

class Growing {
 public:
  // Starts two of at most four workers, both of which hold a commit.
  explicit Growing(int max_failures = 0, int max_heals = -1, bool can_carry = true)
      : machine_(ScalingPolicy::elastic(1, 4, 60), FailurePolicy({.max_failures = max_failures}, 1),
                 60, {.max_heals = max_heals, .can_carry = can_carry}) {
    feed(event::Started{});
    begin(2);
    hold(2);
  }

  Growing& feed(const Event& event) {
    Step next = step(std::move(machine_), event);
    machine_ = std::move(next.machine);
    actions_ = std::move(next.actions);
    return *this;
  }
  Growing& begin(int workers) {
    feed(event::ResourcesGranted{workers});
    if (const auto* begun = find<action::BeginAttempt>()) begun_ = *begun;
    feed(event::AttemptBegun{});
    for (int rank = 0; rank < workers; ++rank) {
      feed(event::PhaseReached{rank, Phase::kHello});
      feed(event::PhaseReached{rank, Phase::kRunning});
    }
    return *this;
  }
  Growing& hold(int workers) {
    for (int rank = 0; rank < workers; ++rank) feed(event::Healable{rank, true});
    return *this;
  }
  Growing& see(int capacity) { return feed(event::ResourcesSeen{machine_.attempt, capacity}); }
  Growing& unwind(int rank, int64_t step = 7, int64_t index = 3) {
    return feed(event::Unwound{
        rank, {.step = step, .index = index, .error = {Code::kPeerLost, "larger"}, .time_s = 2}});
  }
  Growing& gone(int rank) { return feed(event::Gone{rank, Error(Code::kWorkerLost, "killed"), 2}); }

  template <class T>
  const T* find() const {
    for (const Action& action : actions_) {
      if (const T* found = std::get_if<T>(&action)) return found;
    }
    return nullptr;
  }
  // Whether the attempt's row is being closed.
  bool may_end() const { return is_any<stage::Closing, stage::Recording>(machine_.stage); }
  const action::BeginAttempt& begun() const { return begun_; }
  const Machine& machine() const { return machine_; }

 private:
  Machine machine_;
  std::vector<Action> actions_;
  action::BeginAttempt begun_{};
};

TEST(Growth, WithoutAFolderThatAllNodesSeeItGrowsAtACheckpoint) {
  Growing d(0, -1, false);
  d.see(4);
  EXPECT_FALSE(d.find<action::TellResize>()->at_commit);
  EXPECT_FALSE(d.find<action::AskToGrow>());
  EXPECT_TRUE(d.find<action::AskToStop>());
}

// behaviour: a group in train.elastic grows at a commit
TEST(Growth, AGroupThatHoldsACommitGoesOnFromItWithMoreWorkers) {
  Growing d;
  d.see(4);
  ASSERT_TRUE(d.find<action::AskToGrow>());
  EXPECT_TRUE(d.find<action::TellResize>()->at_commit);
  EXPECT_FALSE(d.find<action::AskToStop>()) << "no checkpoint is waited for";
  d.unwind(0);
  EXPECT_EQ(d.find<action::Unwind>()->rank, 0) << "the others wait for it no longer";
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.unwind(1, 7, 4);
  ASSERT_TRUE(d.find<action::KillGroup>());
  d.gone(0).gone(1);
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
  d.feed(event::AttemptEnded{false});
  EXPECT_EQ(d.machine().state(), RunState::kResizing);
  EXPECT_FALSE(d.find<action::TellFailure>());
  d.begin(4);
  EXPECT_EQ(d.begun().num_workers, 4);
  EXPECT_EQ(d.begun().first_index, 3) << "what rank 0 has reported behind its commit comes again";
  EXPECT_TRUE(d.begun().carries);
  EXPECT_FALSE(d.find<action::DropCarried>());
  d.hold(4);
  EXPECT_TRUE(d.find<action::DropCarried>());
}

TEST(Growth, WithoutACommitACheckpointIsWaitedFor) {
  Growing d;
  d.feed(event::Healable{1, false}).see(4);
  EXPECT_FALSE(d.find<action::AskToGrow>());
  EXPECT_TRUE(d.find<action::AskToStop>());
}

TEST(Growth, AGroupThatBecomesSmallerStopsAsBefore) {
  Growing d;
  d.see(1);
  EXPECT_FALSE(d.find<action::AskToGrow>());
  EXPECT_TRUE(d.find<action::AskToStop>());
}

TEST(Growth, ARankThatIsLostMeanwhileIsHealedAndTheCapacityLookedAtAgain) {
  Growing d;
  d.see(4).feed(event::Dying{1, 1});
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kReplaced);
  d.gone(1).unwind(0);
  ASSERT_TRUE(d.find<action::EndHealed>());
  d.feed(event::AttemptEnded{false}).feed(event::AttemptBegun{});
  ASSERT_TRUE(d.find<action::HealGroup>());
  d.feed(event::PhaseReached{1, Phase::kHello}).feed(event::PhaseReached{1, Phase::kRunning});
  EXPECT_TRUE(d.find<action::SetResizeTimer>());
  d.hold(2).see(4);
  EXPECT_TRUE(d.find<action::AskToGrow>());
}

TEST(Growth, AStopFromOutsideComesFirst) {
  Growing d;
  d.see(4).feed(event::StopRequested{StopKind::kTerminate});
  ASSERT_TRUE(d.find<action::AskToGrow>());
  EXPECT_FALSE(d.find<action::AskToGrow>()->is);
  EXPECT_EQ(d.find<action::AskToStop>()->kind, StopKind::kTerminate);
}

TEST(Growth, WhatWasWrittenStaysUntilAllRanksHoldIt) {
  Growing d(1);
  d.see(4).unwind(0).unwind(1).gone(0).gone(1).feed(event::AttemptEnded{false}).begin(4);
  d.gone(2);
  for (const int rank : {0, 1, 3}) d.gone(rank);
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::TellFailure>());
  d.feed(event::RetryDue{d.machine().attempt}).begin(3);
  EXPECT_TRUE(d.begun().carries);
  EXPECT_EQ(d.begun().first_index, 3);
  d.hold(3);
  EXPECT_TRUE(d.find<action::DropCarried>());
}

TEST(Growth, RanksThatDoNotComeBackAreAFailure) {
  Growing d(1);
  d.see(4).unwind(0).feed(event::DeadlinePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.gone(0).gone(1).feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::TellFailure>());
  EXPECT_NE(d.find<action::TellFailure>()->error.cause.message().find("cannot become larger"),
            std::string::npos);
}

// behaviour: a stop that takes over from a growth knows of no checkpoint
TEST(Growth, ATerminationWhileTheRanksOfAGrowthEndHasSavedNothing) {
  Growing d;
  d.see(4).unwind(0).unwind(1).gone(0);
  d.feed(event::StopNow{StopKind::kTerminate, "somebody"}).gone(1).feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kAborted);
}

TEST(Growth, AHealMeanwhileIsChargedToMaxHeals) {
  Growing d(0, 1);
  d.feed(event::Dying{1, 1}).gone(1).unwind(0).feed(event::AttemptEnded{false});
  d.feed(event::AttemptBegun{}).feed(event::PhaseReached{1, Phase::kRunning}).hold(2).see(4);
  ASSERT_TRUE(d.find<action::AskToGrow>());
  d.unwind(0).feed(event::Dying{1, 2});
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kEnds);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Growth, ARankThatHasReturnedComesToNoCommit) {
  Growing before;
  before.feed(event::Returned{1}).see(4);
  EXPECT_FALSE(before.find<action::AskToGrow>());
  EXPECT_TRUE(before.find<action::SetResizeTimer>());
  Growing asked;
  asked.see(4).feed(event::Returned{1});
  ASSERT_TRUE(asked.find<action::AskToGrow>());
  EXPECT_FALSE(asked.find<action::AskToGrow>()->is);
  Growing gathering;
  gathering.see(4).unwind(0).feed(event::Returned{1});
  EXPECT_TRUE(gathering.find<action::KillGroup>()) << "rank 0 would wait for the whole timeout";
}

TEST(Growth, WhatWasWrittenStaysWhereARankHasFailed) {
  Growing d(1);
  d.see(4).unwind(0).unwind(1).gone(0).gone(1).feed(event::AttemptEnded{false}).begin(3);
  d.feed(event::Healable{0, true}).feed(event::Failed{0, Error(Code::kUser, "boom"), 2}).gone(0);
  d.feed(event::Healable{1, true}).feed(event::Healable{2, true});
  EXPECT_FALSE(d.find<action::DropCarried>());
}

// Feeds random events in any order; the group never exceeds four ranks.
// behaviour: virtual ranks are moved from a slow rank to others at a commit
TEST(Growth, ProcessesThatShareTheVirtualRanksInAnotherWayStay) {
  Growing d(0, 1);
  d.feed(event::Unbalanced{});
  ASSERT_TRUE(d.find<action::AskToGrow>());
  EXPECT_TRUE(d.find<action::AskToGrow>()->is_in_place);
  d.feed(event::Unbalanced{});
  EXPECT_FALSE(d.find<action::AskToGrow>()) << "once";
  d.unwind(0);
  EXPECT_EQ(d.find<action::Unwind>()->rank, 0);
  d.unwind(1);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->next_index, 3);
  d.feed(event::AttemptEnded{false});
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 2);
  d.feed(event::AttemptBegun{});
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{0, 1}));
  EXPECT_TRUE(d.find<action::HealGroup>()->lost.empty());
  EXPECT_EQ(d.machine().state(), RunState::kRunning);
  EXPECT_FALSE(d.feed(event::Unbalanced{}).find<action::AskToGrow>()) << "not all are there yet";
  EXPECT_TRUE(d.hold(1).find<action::TellHealed>());
  EXPECT_EQ(d.machine().num_heals, 0) << "no rank was lost";
  EXPECT_TRUE(d.feed(event::Unbalanced{}).find<action::AskToGrow>());
}

TEST(Growth, WithoutACommitOrWhileTheRunStopsNoVirtualRanksAreMoved) {
  Growing before;
  before.feed(event::Healable{1, false}).feed(event::Unbalanced{});
  EXPECT_FALSE(before.find<action::AskToGrow>());
  Growing stopping;
  stopping.feed(event::StopRequested{StopKind::kTerminate}).feed(event::Unbalanced{});
  EXPECT_FALSE(stopping.find<action::AskToGrow>());
  Growing asked;
  asked.feed(event::Unbalanced{}).feed(event::StopRequested{StopKind::kTerminate});
  EXPECT_FALSE(asked.find<action::AskToGrow>()->is);
  EXPECT_TRUE(asked.find<action::AskToStop>());
}

TEST(Growth, ARankThatIsLostWhileVirtualRanksAreMovedIsHealed) {
  Growing d;
  d.feed(event::Unbalanced{}).unwind(0).feed(event::Dying{1, 1});
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kReplaced);
  d.gone(1);
  ASSERT_TRUE(d.find<action::EndHealed>());
  d.feed(event::AttemptEnded{false}).feed(event::AttemptBegun{});
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->lost, std::vector{1});
  EXPECT_EQ(d.machine().num_heals, 1);
}

TEST(Growth, RandomRunsEnd) {
  constexpr unsigned kRuns = 2000;
  constexpr int kEvents = 40;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    std::mt19937 random(seed);
    Growing d(100);
    for (int i = 0; i < kEvents; ++i) {
      const Machine& m = d.machine();
      const auto rank = static_cast<int>(random() % 4);
      switch (random() % 8) {
        case 0:
          d.see(static_cast<int>(random() % 5));
          break;
        case 1:
          d.unwind(rank, static_cast<int64_t>(random() % 3));
          break;
        case 2:
          d.gone(rank);
          break;
        case 3:
          if (!d.may_end()) break;
          d.feed(event::AttemptEnded{false});
          if (d.find<action::BeginAttempt>()) d.feed(event::AttemptBegun{});
          break;
        case 4:
          if (is_any<stage::Requesting>(m.stage)) d.begin(1 + rank);
          break;
        case 5:
          d.feed(event::Healable{rank, random() % 4 != 0});
          break;
        case 6:
          d.feed(event::RetryDue{m.attempt});
          break;
        default:
          if (is_any<stage::Unwinding, stage::Gathering>(m.stage)) {
            d.feed(event::DeadlinePassed{m.attempt});
          }
      }
      EXPECT_LE(d.machine().group.ranks.size(), 4U) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace rtrain::decide
