// The state machine of a run in train.elastic that replaces lost ranks while the others live.
#include <gtest/gtest.h>

#include "tests/unit/decide/heal_driver.h"

namespace rtrain::decide {
namespace {

TEST(Heal, TheRowOfAGroupThatCannotGoOnSaysTheNumberThatWasAskedFor) {
  HealDriver d(3);
  d.all_hold().lose_first().lose_host_of(2);
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::BeginAttempt>());
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 3);
  d.feed(event::AttemptBegun{});
  EXPECT_TRUE(d.find<action::KillGroup>());
}

// A rank that has returned cannot unwind: waiting for it would take the whole timeout.

TEST(Heal, IsGivenUpAtOnceWhereARankReturns) {
  HealDriver d(2);
  d.all_hold().dying(1);
  ASSERT_TRUE(d.find<action::Unwind>());
  d.feed(event::Returned{0});
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, KeepsItsDeadlineWhenAnotherRankComesToItsTrainFunction) {
  HealDriver d(3);
  d.all_hold().lose_first().write_rows();
  ASSERT_TRUE(d.find<action::HealGroup>());
  d.dying(1);
  ASSERT_TRUE(d.find<action::SetDeadline>());
  d.feed(event::PhaseReached{0, Phase::kHello});
  EXPECT_FALSE(d.find<action::SetDeadline>());
  d.feed(event::PhaseReached{0, Phase::kRunning});
  EXPECT_FALSE(d.find<action::ClearDeadline>());
  EXPECT_EQ(d.state(), RunState::kScheduling);
}

TEST(Heal, ReplacesTheLostRankAndLetsTheOthersLive) {
  HealDriver d(3);
  d.all_hold().dying(1);
  ASSERT_TRUE(d.find<action::TellDeath>());
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kReplaced);
  EXPECT_EQ(d.find<action::Unwind>()->rank, 1);
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.unwind(0).unwind(2);
  EXPECT_FALSE(d.find<action::EndHealed>()) << "its process has not ended";
  d.gone(1);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->error.rank, 1);
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::BeginAttempt>());
  EXPECT_EQ(d.find<action::BeginAttempt>()->attempt, 2);
  EXPECT_EQ(d.find<action::BeginAttempt>()->first_index, 3);
  d.feed(event::AttemptBegun{});
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->lost, std::vector{1});
  d.reach(1);
  EXPECT_EQ(d.state(), RunState::kRunning);
  EXPECT_FALSE(d.find<action::TellHealed>());
  d.hold(1);
  EXPECT_TRUE(d.find<action::TellHealed>());
}

// On a busy machine the controller reads all that one rank has said before what another one has.
TEST(Heal, FollowsWhereARankHasGoneBackBeforeOthersHaveSaidThatTheyHoldACommit) {
  HealDriver d(3);
  d.hold(0).unwind(0).hold(1).hold(2).dying(1);
  ASSERT_TRUE(d.find<action::TellDeath>());
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kReplaced);
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.unwind(2).gone(1);
  EXPECT_TRUE(d.find<action::EndHealed>());
}

TEST(Heal, IsCountedButNoFailure) {
  HealDriver d(2, 1);
  d.all_hold().lose_first().write_rows().reach(0).hold(0);
  EXPECT_EQ(d.attempt(), 2);
  d.dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>()) << "max_heals = 1";
  d.gone(1).gone(0).feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::TellFailure>());
  EXPECT_FALSE(d.find<action::TellFailure>()->decision.retry) << "max_failures = 0";
}

TEST(Heal, NeedsAllRanksInTheFunction) {
  HealDriver d(2);
  d.hold(0).dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, IsOverWhenARankHasLeftTheFunction) {
  HealDriver d(2);
  d.all_hold().feed(event::Healable{0, false}).dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, NoneIsWantedWithoutHeals) {
  HealDriver d(2, 0);
  d.all_hold().dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, AnErrorOfTheScriptIsNotHealed) {
  HealDriver d(2);
  d.all_hold().feed(event::Failed{0, Error(Code::kUser, "boom"), 1}).dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::Unwind>());
}

TEST(Heal, ARankThatRaisesAndEndsMeanwhileIsNotReplaced) {
  HealDriver d(3);
  d.all_hold().dying(1).gone(1).feed(event::Failed{0, Error(Code::kUser, "boom"), 1}).gone(0);
  d.unwind(2);
  EXPECT_FALSE(d.find<action::EndHealed>());
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, ARankMayLearnOfALossBeforeTheController) {
  HealDriver d(2);
  d.all_hold().unwind(0);
  EXPECT_TRUE(d.find<action::SetVerdictTimer>());
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.dying(1);
  EXPECT_TRUE(d.find<action::Unwind>());
  d.gone(1);
  EXPECT_TRUE(d.find<action::EndHealed>());
}

TEST(Heal, WhereNobodyHasDiedWhatTheRanksSayIsTheError) {
  HealDriver d(2);
  d.all_hold().unwind(0).feed(event::VerdictDue{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.gone(0).gone(1);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  ASSERT_TRUE(d.find<action::EndAttempt>()->error);
}

TEST(Heal, WhatARankSaidBeforeAllHaveReturnedIsTheError) {
  HealDriver d(2);
  d.all_hold().unwind(0).feed(event::Returned{0}).feed(event::Returned{1});
  d.gone(0).gone(1);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  ASSERT_TRUE(d.find<action::EndAttempt>()->error);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.code(), Code::kPeerLost);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->rank, 0);
}

TEST(Heal, SeveralLossesAreOneHeal) {
  HealDriver d(4);
  d.all_hold().dying(1).unwind(0).dying(2).gone(2).gone(1);
  EXPECT_FALSE(d.find<action::EndHealed>());
  d.unwind(3);
  ASSERT_TRUE(d.find<action::EndHealed>());
  d.write_rows();
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (std::vector{1, 2}));
}

TEST(Heal, ASlowRankIsGivenUpOnceIfTheOthersCanGoOn) {
  HealDriver d(3);
  EXPECT_FALSE(d.feed(event::RankSlow{1}).find<action::KillRank>()) << "it holds no state";
  d.all_hold().feed(event::RankSlow{1});
  ASSERT_TRUE(d.find<action::KillRank>());
  EXPECT_EQ(d.find<action::KillRank>()->rank, 1);
  EXPECT_FALSE(d.feed(event::RankSlow{1}).find<action::KillRank>()) << "only once";
  d.dying(1).gone(1).unwind(0).unwind(2).write_rows();
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (std::vector{1}));
  HealDriver unhealed(3, 0);
  EXPECT_FALSE(unhealed.all_hold().feed(event::RankSlow{1}).find<action::KillRank>());
}

TEST(Heal, ALossWhileTheRowsAreWrittenIsReplacedToo) {
  HealDriver d(3);
  d.all_hold().lose_first().dying(2);
  d.feed(event::AttemptEnded{false}).feed(event::AttemptBegun{});
  EXPECT_FALSE(d.find<action::HealGroup>()) << "rank 2 has not ended";
  d.gone(2);
  ASSERT_TRUE(d.find<action::LookAgain>());
  d.feed(event::HealDue{d.attempt()});
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (std::vector{0, 2}));
}

TEST(Heal, AReplacementThatHasNotGotTheStateGoesWithTheNextLoss) {
  HealDriver d(3);
  d.all_hold().lose_first().write_rows().reach(0).dying(2);
  ASSERT_TRUE(d.find<action::KillRank>());
  EXPECT_EQ(d.find<action::KillRank>()->rank, 0);
  d.gone(2).unwind(1, 7, 3);
  EXPECT_FALSE(d.find<action::EndHealed>()) << "the replacement has not ended";
  d.dying(0).gone(0);
  EXPECT_TRUE(d.find<action::EndHealed>());
  d.write_rows();
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (std::vector{0, 2}));
}

TEST(Heal, WhatAReplacementWithoutTheStateSaysDoesNotCount) {
  HealDriver d(3);
  d.all_hold().lose_first().write_rows().reach(0).dying(2).gone(2).unwind(0, 0, 0).unwind(1);
  EXPECT_FALSE(d.find<action::EndHealed>());
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.gone(0);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->next_index, 3) << "that of rank 1";
  d.feed(event::AttemptEnded{false});
  EXPECT_EQ(d.find<action::BeginAttempt>()->first_index, 3);
}

TEST(Heal, AReplacementThatGetsTheStateAsAnotherRankIsLostIsTooLate) {
  HealDriver d(3);
  d.all_hold().lose_first().write_rows().reach(0).dying(2).unwind(1).hold(0);
  EXPECT_FALSE(d.find<action::TellHealed>());
  d.gone(2).gone(0);
  EXPECT_TRUE(d.find<action::EndHealed>()) << "rank 1 is back";
  d.write_rows();
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (std::vector{0, 2}));
}

TEST(Heal, ALostNodeCannotTakeItsRanksBack) {
  HealDriver d(3, -1, 1);
  d.all_hold();
  d.lose_host_of(2);
  EXPECT_FALSE(d.find<action::Unwind>());
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_NE(d.find<action::TellDeath>()->because.find("too large for a copy"), std::string::npos);
  HealDriver meanwhile(3, -1, 1);
  meanwhile.all_hold().lose_first();
  meanwhile.lose_host_of(2).write_rows();
  EXPECT_TRUE(meanwhile.find<action::KillGroup>());
  EXPECT_FALSE(meanwhile.find<action::HealGroup>());
}

TEST(Heal, WhenAllThatHeldTheStateAreLostTheGroupBeginsAgain) {
  HealDriver d(2, -1, 1);
  d.all_hold().lose_first().dying(1).gone(1).write_rows();
  EXPECT_TRUE(d.find<action::EndAttempt>());
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::TellFailure>());
  EXPECT_TRUE(d.find<action::TellFailure>()->decision.retry);
  EXPECT_EQ(d.state(), RunState::kRestarting);
}

TEST(Heal, RanksThatHoldDifferentStepsBeginAgain) {
  for (const int64_t step : {0, 8}) {
    HealDriver d(3, -1, 1);
    d.all_hold().dying(0).gone(0).unwind(1, 7).unwind(2, step);
    EXPECT_TRUE(d.find<action::KillGroup>()) << step;
    EXPECT_FALSE(d.find<action::EndHealed>());
  }
}

TEST(Heal, RanksThatDoNotComeBackAreEnded) {
  HealDriver d(2, -1, 1);
  d.all_hold().dying(0).gone(0).feed(event::DeadlinePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.gone(1);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->rank, 0);
}

TEST(Heal, AStopWaitsUntilAllRanksAreThereAgain) {
  HealDriver d(2);
  d.all_hold().dying(0).feed(event::StopRequested{StopKind::kTerminate});
  EXPECT_FALSE(d.find<action::AskToStop>());
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.gone(0).unwind(1).write_rows();
  ASSERT_TRUE(d.find<action::HealGroup>());
  d.reach(0).hold(0);
  EXPECT_TRUE(d.find<action::AskToStop>());
}

TEST(Heal, AStopAfterAHealThatFailedWaitsForNobody) {
  HealDriver d(2, -1, 1);
  d.all_hold().lose_first().write_rows();
  d.reach(0).feed(event::Failed{0, Error(Code::kUser, "raised"), 3});
  d.feed(event::VerdictDue{2}).gone(0).gone(1).feed(event::AttemptEnded{false});
  ASSERT_EQ(d.state(), RunState::kRestarting);
  d.feed(event::StopRequested{StopKind::kOperator});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kAborted);
}

TEST(Heal, ALossDuringAStopEndsTheGroup) {
  HealDriver d(2);
  d.all_hold().feed(event::StopRequested{StopKind::kTerminate}).dying(0);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, AStopAtOnceWaitsForTheRowThatIsBeingWritten) {
  HealDriver d(2);
  d.all_hold().lose_first().feed(event::StopNow{StopKind::kInterrupt});
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.write_rows();
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::HealGroup>());
  d.gone(1).feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
}

TEST(Heal, AStorageFailureMeanwhileEndsTheRun) {
  HealDriver d(2);
  d.all_hold().lose_first().feed(event::StorageFailed{Error(Code::kEnvironment, "disk")});
  d.write_rows();
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.gone(1).feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
}

TEST(Heal, ReplacementsThatKeepDyingEndTheGroup) {
  HealDriver d(2);
  d.all_hold();
  int heals = 0;
  for (; heals < 100; ++heals) {
    d.dying(0);
    if (d.find<action::KillGroup>()) break;
    d.gone(0).unwind(1).write_rows().reach(0);
  }
  EXPECT_GT(heals, 5);
  EXPECT_LT(heals, 100);
}

}  // namespace
}  // namespace rtrain::decide
