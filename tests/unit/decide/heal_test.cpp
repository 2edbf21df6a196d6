// The state machine of a run in train.elastic that replaces lost ranks while the others live.
#include <gtest/gtest.h>

#include "host/decide/run/state_machine.h"

namespace rtrain::decide {
namespace {

class Driver {
 public:
  explicit Driver(int workers, int max_heals = -1, int max_failures = 0)
      : Driver(ScalingPolicy::fixed(workers), workers, max_heals, max_failures) {}
  // Creates an elastic group.
  Driver(int min_workers, int workers, const std::string& fixed)
      : Driver(ScalingPolicy::elastic(min_workers, workers, 60), workers, -1, 1) {
    for (int rank = 0; rank < workers; ++rank) feed(event::Healable{rank, true, fixed});
  }
  Driver(const ScalingPolicy& scaling, int workers, int max_heals, int max_failures)
      : machine_(scaling, FailurePolicy({.max_failures = max_failures}, 1), 60,
                 {.max_heals = max_heals, .loss_timeout_s = scaling.is_elastic() ? 35.0 : 0.0}) {
    feed(event::Started{}).feed(event::ResourcesGranted{workers}).feed(event::AttemptBegun{});
    for (int rank = 0; rank < workers; ++rank) reach(rank);
  }

  Driver& feed(const Event& event) {
    Step next = step(std::move(machine_), event);
    machine_ = std::move(next.machine);
    actions_ = std::move(next.actions);
    return *this;
  }
  Driver& reach(int rank) {
    feed(event::PhaseReached{rank, Phase::kHello});
    return feed(event::PhaseReached{rank, Phase::kRunning});
  }
  Driver& hold(int rank) { return feed(event::Healable{rank, true}); }
  Driver& all_hold() {
    for (int rank = 0; rank < machine_.num_workers; ++rank) hold(rank);
    return *this;
  }
  Driver& dying(int rank) { return feed(event::Dying{rank, 1}); }
  Driver& lose_host_of(int rank) {
    return feed(event::Gone{rank, Error(Code::kWorkerLost, "not heard of"), 1, false});
  }
  Driver& gone(int rank) { return feed(event::Gone{rank, Error(Code::kWorkerLost, "killed"), 2}); }
  Driver& unwind(int rank, int64_t step = 7, int64_t index = 3) {
    return feed(event::Unwound{
        rank, {.step = step, .index = index, .error = {Code::kPeerLost, "lost"}, .time_s = 2}});
  }
  // Loses rank 0; all other ranks unwind.
  Driver& lose_first() {
    dying(0).gone(0);
    for (int rank = 1; rank < machine_.num_workers; ++rank) unwind(rank);
    return *this;
  }
  Driver& write_rows() {
    feed(event::AttemptEnded{false});
    return feed(event::AttemptBegun{});
  }

  template <class T>
  const T* find() const {
    for (const Action& action : actions_) {
      if (const T* found = std::get_if<T>(&action)) return found;
    }
    return nullptr;
  }
  RunState state() const { return machine_.state(); }
  int attempt() const { return machine_.attempt; }
  int num_workers() const { return machine_.num_workers; }

 private:
  Machine machine_;
  std::vector<Action> actions_;
};

TEST(Heal, TheRowOfAGroupThatCannotGoOnSaysTheNumberThatWasAskedFor) {
  Driver d(3);
  d.all_hold().lose_first().lose_host_of(2);
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::BeginAttempt>());
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 3);
  d.feed(event::AttemptBegun{});
  EXPECT_TRUE(d.find<action::KillGroup>());
}

// A rank that has returned cannot unwind: waiting for it would take the whole timeout.
TEST(Heal, IsGivenUpAtOnceWhereARankReturns) {
  Driver d(2);
  d.all_hold().dying(1);
  ASSERT_TRUE(d.find<action::Unwind>());
  d.feed(event::Returned{0});
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, KeepsItsDeadlineWhenAnotherRankComesToItsTrainFunction) {
  Driver d(3);
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
  Driver d(3);
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

TEST(Heal, IsCountedButNoFailure) {
  Driver d(2, 1);
  d.all_hold().lose_first().write_rows().reach(0).hold(0);
  EXPECT_EQ(d.attempt(), 2);
  d.dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>()) << "max_heals = 1";
  d.gone(1).gone(0).feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::TellFailure>());
  EXPECT_FALSE(d.find<action::TellFailure>()->decision.retry) << "max_failures = 0";
}

TEST(Heal, NeedsAllRanksInTheFunction) {
  Driver d(2);
  d.hold(0).dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, IsOverWhenARankHasLeftTheFunction) {
  Driver d(2);
  d.all_hold().feed(event::Healable{0, false}).dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, NoneIsWantedWithoutHeals) {
  Driver d(2, 0);
  d.all_hold().dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, AnErrorOfTheScriptIsNotHealed) {
  Driver d(2);
  d.all_hold().feed(event::Failed{0, Error(Code::kUser, "boom"), 1}).dying(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::Unwind>());
}

TEST(Heal, ARankThatRaisesAndEndsMeanwhileIsNotReplaced) {
  Driver d(3);
  d.all_hold().dying(1).gone(1).feed(event::Failed{0, Error(Code::kUser, "boom"), 1}).gone(0);
  d.unwind(2);
  EXPECT_FALSE(d.find<action::EndHealed>());
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, ARankMayLearnOfALossBeforeTheController) {
  Driver d(2);
  d.all_hold().unwind(0);
  EXPECT_TRUE(d.find<action::SetVerdictTimer>());
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.dying(1);
  EXPECT_TRUE(d.find<action::Unwind>());
  d.gone(1);
  EXPECT_TRUE(d.find<action::EndHealed>());
}

TEST(Heal, WhereNobodyHasDiedWhatTheRanksSayIsTheError) {
  Driver d(2);
  d.all_hold().unwind(0).feed(event::VerdictDue{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.gone(0).gone(1);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  ASSERT_TRUE(d.find<action::EndAttempt>()->error);
}

TEST(Heal, WhatARankSaidBeforeAllHaveReturnedIsTheError) {
  Driver d(2);
  d.all_hold().unwind(0).feed(event::Returned{0}).feed(event::Returned{1});
  d.gone(0).gone(1);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  ASSERT_TRUE(d.find<action::EndAttempt>()->error);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.code(), Code::kPeerLost);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->rank, 0);
}

TEST(Heal, SeveralLossesAreOneHeal) {
  Driver d(4);
  d.all_hold().dying(1).unwind(0).dying(2).gone(2).gone(1);
  EXPECT_FALSE(d.find<action::EndHealed>());
  d.unwind(3);
  ASSERT_TRUE(d.find<action::EndHealed>());
  d.write_rows();
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (std::vector{1, 2}));
}

TEST(Heal, ASlowRankIsGivenUpOnceIfTheOthersCanGoOn) {
  Driver d(3);
  EXPECT_FALSE(d.feed(event::RankSlow{1}).find<action::KillRank>()) << "it holds no state";
  d.all_hold().feed(event::RankSlow{1});
  ASSERT_TRUE(d.find<action::KillRank>());
  EXPECT_EQ(d.find<action::KillRank>()->rank, 1);
  EXPECT_FALSE(d.feed(event::RankSlow{1}).find<action::KillRank>()) << "only once";
  d.dying(1).gone(1).unwind(0).unwind(2).write_rows();
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (std::vector{1}));
  Driver unhealed(3, 0);
  EXPECT_FALSE(unhealed.all_hold().feed(event::RankSlow{1}).find<action::KillRank>());
}

TEST(Heal, ALossWhileTheRowsAreWrittenIsReplacedToo) {
  Driver d(3);
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
  Driver d(3);
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
  Driver d(3);
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
  Driver d(3);
  d.all_hold().lose_first().write_rows().reach(0).dying(2).unwind(1).hold(0);
  EXPECT_FALSE(d.find<action::TellHealed>());
  d.gone(2).gone(0);
  EXPECT_TRUE(d.find<action::EndHealed>()) << "rank 1 is back";
  d.write_rows();
  EXPECT_EQ(d.find<action::HealGroup>()->lost, (std::vector{0, 2}));
}

TEST(Heal, ALostNodeCannotTakeItsRanksBack) {
  Driver d(3, -1, 1);
  d.all_hold();
  d.lose_host_of(2);
  EXPECT_FALSE(d.find<action::Unwind>());
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_NE(d.find<action::TellDeath>()->because.find("too large for a copy"), std::string::npos);
  Driver meanwhile(3, -1, 1);
  meanwhile.all_hold().lose_first();
  meanwhile.lose_host_of(2).write_rows();
  EXPECT_TRUE(meanwhile.find<action::KillGroup>());
  EXPECT_FALSE(meanwhile.find<action::HealGroup>());
}

TEST(Heal, AnElasticGroupGoesOnWithoutALostNode) {
  Driver d(1, 4, "");
  d.lose_host_of(2);
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kLeftOut);
  EXPECT_EQ(d.find<action::Unwind>()->rank, 2);
  d.lose_host_of(1).unwind(0).unwind(3);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->error.rank, 1) << "the first of those lost at once";
  d.feed(event::AttemptEnded{false});
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 2);
  d.feed(event::AttemptBegun{});
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{0, 3}));
  EXPECT_EQ(d.find<action::HealGroup>()->lost, std::vector<int>{});
  EXPECT_EQ(d.state(), RunState::kRunning) << "nobody has to be started";
  d.hold(1);
  EXPECT_TRUE(d.find<action::TellHealed>());
  EXPECT_FALSE(d.feed(event::Returned{2}).find<action::SendExit>()) << "there is no such rank";
  d.feed(event::Returned{0}).feed(event::Returned{1});
  EXPECT_TRUE(d.find<action::SendExit>());
}

TEST(Heal, RanksMayNoticeALostNodeLongBeforeItIsGivenUp) {
  Driver d(1, 3, "");
  d.unwind(0).unwind(1).feed(event::VerdictDue{1});
  ASSERT_TRUE(d.find<action::SetVerdictTimer>());
  EXPECT_EQ(d.find<action::SetVerdictTimer>()->seconds, 35);
  d.lose_host_of(2);
  EXPECT_TRUE(d.find<action::EndHealed>());
  Driver none(1, 3, "");
  none.unwind(0).unwind(1).feed(event::VerdictDue{1}).feed(event::VerdictDue{1});
  EXPECT_TRUE(none.find<action::KillGroup>()) << "no node was lost";
  Driver all(1, 2, "");
  all.unwind(0).unwind(1).feed(event::VerdictDue{1});
  EXPECT_TRUE(all.find<action::KillGroup>()) << "nobody is missing";
}

TEST(Heal, ALostNodeAndALostRankOfAnotherOne) {
  Driver d(2, 4, "");
  d.lose_host_of(0).dying(2).gone(2).unwind(1).unwind(3).write_rows();
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{1, 2, 3}));
  EXPECT_EQ(d.find<action::HealGroup>()->lost, std::vector{1}) << "as it is numbered now";
  d.reach(1).hold(1);
  EXPECT_TRUE(d.find<action::TellHealed>());
}

TEST(Heal, AGroupDoesNotBecomeSmallerThanItsLeast) {
  Driver d(3, 4, "");
  d.lose_host_of(3);
  EXPECT_TRUE(d.find<action::Unwind>());
  d.lose_host_of(2);
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_EQ(d.find<action::TellDeath>()->because,
            "its node is lost and fewer than 3 workers, the least of num_workers, are left");
  Driver restarts(1, 2, "the sweep knows them");
  restarts.lose_host_of(1);
  EXPECT_TRUE(restarts.find<action::KillGroup>());
  EXPECT_EQ(restarts.find<action::TellDeath>()->because,
            "its node is lost and a smaller group is not possible: the sweep knows them");
}

TEST(Heal, ANodeThatIsLostBehindTheRowBeginsAgain) {
  Driver d(1, 3, "");
  d.lose_host_of(2).unwind(0).unwind(1).feed(event::AttemptEnded{false});
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 2);
  d.lose_host_of(1).feed(event::AttemptBegun{});
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::HealGroup>());
  Driver before(1, 3, "");
  before.lose_host_of(2).unwind(0).unwind(1).lose_host_of(1).write_rows();
  EXPECT_EQ(before.find<action::HealGroup>()->kept, std::vector{0});
}

TEST(Heal, ARankThatCannotBeStartedAgainIsLeftOut) {
  Driver d(1, 3, "");
  d.lose_first().write_rows();
  d.feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 0, 1});
  ASSERT_TRUE(d.find<action::TellLeftOut>());
  EXPECT_EQ(d.find<action::TellLeftOut>()->error.message(), "no memory");
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.unwind(1).unwind(2);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->error.cause.message(), "no memory");
  d.write_rows();
  EXPECT_EQ(d.attempt(), 3);
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{1, 2}));
  Driver fixed(3, -1, 1);
  fixed.all_hold().lose_first().write_rows();
  fixed.feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 0, 1});
  EXPECT_TRUE(fixed.find<action::KillGroup>());
}

TEST(Heal, ARankThatDoesNotStartInTimeIsLeftOut) {
  Driver d(1, 3, "");
  d.lose_first().write_rows();
  d.feed(event::PhaseReached{0, Phase::kHello}).feed(event::DeadlinePassed{2});
  ASSERT_TRUE(d.find<action::KillRank>());
  EXPECT_EQ(d.find<action::KillRank>()->rank, 0);
  EXPECT_EQ(d.find<action::TellLeftOut>()->error.code(), Code::kTimeout);
  d.unwind(1).unwind(2);
  EXPECT_FALSE(d.find<action::EndHealed>()) << "it is being ended";
  d.gone(0);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->error.cause.code(), Code::kTimeout);
  d.write_rows();
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{1, 2}));
}

TEST(Heal, WhenAllThatHeldTheStateAreLostTheGroupBeginsAgain) {
  Driver d(2, -1, 1);
  d.all_hold().lose_first().dying(1).gone(1).write_rows();
  EXPECT_TRUE(d.find<action::EndAttempt>());
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::TellFailure>());
  EXPECT_TRUE(d.find<action::TellFailure>()->decision.retry);
  EXPECT_EQ(d.state(), RunState::kRestarting);
}

TEST(Heal, RanksThatHoldDifferentStepsBeginAgain) {
  for (const int64_t step : {0, 8}) {
    Driver d(3, -1, 1);
    d.all_hold().dying(0).gone(0).unwind(1, 7).unwind(2, step);
    EXPECT_TRUE(d.find<action::KillGroup>()) << step;
    EXPECT_FALSE(d.find<action::EndHealed>());
  }
}

TEST(Heal, RanksThatDoNotComeBackAreEnded) {
  Driver d(2, -1, 1);
  d.all_hold().dying(0).gone(0).feed(event::DeadlinePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.gone(1);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->rank, 0);
}

TEST(Heal, AStopWaitsUntilAllRanksAreThereAgain) {
  Driver d(2);
  d.all_hold().dying(0).feed(event::StopRequested{StopKind::kTerminate});
  EXPECT_FALSE(d.find<action::AskToStop>());
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.gone(0).unwind(1).write_rows();
  ASSERT_TRUE(d.find<action::HealGroup>());
  d.reach(0).hold(0);
  EXPECT_TRUE(d.find<action::AskToStop>());
}

TEST(Heal, AStopAfterAHealThatFailedWaitsForNobody) {
  Driver d(2, -1, 1);
  d.all_hold().lose_first().write_rows();
  d.reach(0).feed(event::Failed{0, Error(Code::kUser, "raised"), 3});
  d.feed(event::VerdictDue{2}).gone(0).gone(1).feed(event::AttemptEnded{false});
  ASSERT_EQ(d.state(), RunState::kRestarting);
  d.feed(event::StopRequested{StopKind::kOperator});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kAborted);
}

TEST(Heal, ALossDuringAStopEndsTheGroup) {
  Driver d(2);
  d.all_hold().feed(event::StopRequested{StopKind::kTerminate}).dying(0);
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(Heal, AStopAtOnceWaitsForTheRowThatIsBeingWritten) {
  Driver d(2);
  d.all_hold().lose_first().feed(event::StopNow{StopKind::kInterrupt});
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.write_rows();
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::HealGroup>());
  d.gone(1).feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
}

TEST(Heal, AStorageFailureMeanwhileEndsTheRun) {
  Driver d(2);
  d.all_hold().lose_first().feed(event::StorageFailed{Error(Code::kEnvironment, "disk")});
  d.write_rows();
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.gone(1).feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
}

TEST(Heal, ReplacementsThatKeepDyingEndTheGroup) {
  Driver d(2);
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

TEST(Heal, AnElasticGroupGoesOnWithoutARankThatKeepsDying) {
  Driver d(1, 2, "");
  int heals = 0;
  for (; heals < 100 && d.num_workers() == 2; ++heals) {
    d.dying(0).gone(0).unwind(1).write_rows();
    ASSERT_TRUE(d.find<action::HealGroup>());
    if (d.num_workers() == 2) d.reach(0);
  }
  EXPECT_GT(heals, 5);
  EXPECT_LT(heals, 100);
  EXPECT_EQ(d.find<action::HealGroup>()->kept, std::vector{1});
}

}  // namespace
}  // namespace rtrain::decide
