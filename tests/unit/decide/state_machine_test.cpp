#include "host/decide/run/state_machine.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/decide/run_driver.h"

namespace rtrain::decide {
namespace {

TEST(StateMachine, SpawnsOnlyAfterTheAttemptIsOnDisk) {
  RunDriver d(2);
  d.feed(event::Started{}).grant(2);
  EXPECT_EQ(d.state(), RunState::kScheduling);
  ASSERT_TRUE(d.find<action::BeginAttempt>());
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 2);
  EXPECT_FALSE(d.find<action::SpawnGroup>());
  d.begin_attempt();
  EXPECT_TRUE(d.find<action::SpawnGroup>());
  EXPECT_TRUE(d.find<action::SetDeadline>());
}

TEST(StateMachine, AHelloIsAnsweredWithStart) {
  RunDriver d(2);
  d.start_group().feed(event::PhaseReached{1, Phase::kHello});
  ASSERT_TRUE(d.find<action::SendStart>());
  EXPECT_EQ(d.find<action::SendStart>()->rank, 1);
}

TEST(StateMachine, RunsWhenEveryRankRuns) {
  RunDriver d(2);
  d.start_group().all_reach(Phase::kHello);
  EXPECT_TRUE(d.find<action::SetDeadline>());
  d.feed(event::PhaseReached{0, Phase::kRunning});
  EXPECT_EQ(d.state(), RunState::kScheduling);
  d.feed(event::PhaseReached{1, Phase::kRunning});
  EXPECT_EQ(d.state(), RunState::kRunning);
  EXPECT_TRUE(d.find<action::ClearDeadline>());
}

TEST(StateMachine, FinishesInOrder) {
  RunDriver d(2);
  d.run().feed(event::Returned{0});
  EXPECT_FALSE(d.find<action::SendExit>());
  d.feed(event::Returned{1});
  EXPECT_TRUE(d.find<action::SendExit>());
  EXPECT_EQ(d.state(), RunState::kShuttingDown);
  d.die(0).die(1);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  d.feed(event::RunEnded{});
  ASSERT_TRUE(d.find<action::Finish>());
  EXPECT_FALSE(d.find<action::Finish>()->error);
  EXPECT_EQ(d.state(), RunState::kFinished);
}

// behaviour: workers that hang at exit
TEST(StateMachine, AWorkerThatDoesNotLeaveIsKilledAndTheRunStillFinishes) {
  RunDriver d(1);
  d.run().feed(event::Returned{0}).feed(event::DeadlinePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.die(0);
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
}

TEST(StateMachine, TheVerdictWaitsForTheOtherRanksButNotForEver) {
  RunDriver d(3);
  d.run().fail(1, Code::kUser, "boom");
  EXPECT_TRUE(d.find<action::SetVerdictTimer>());
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.feed(event::VerdictDue{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(StateMachine, TheVerdictComesAtOnceWhenAllRanksAreAccountedFor) {
  RunDriver d(3);
  d.run().feed(event::Returned{2}).fail(1, Code::kUser, "boom");
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.fail(0, Code::kPeerLost, "connection reset");
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(StateMachine, PeerLostIsNeverTheCauseBesideAnotherError) {
  RunDriver d(3);
  d.run();
  d.fail(0, Code::kPeerLost, "connection reset by rank 2", 1.0);
  d.fail(1, Code::kPeerLost, "connection reset by rank 2", 1.1);
  d.die(2).all_gone();
  const auto* end = d.find<action::EndAttempt>();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, RunState::kErrored);
  EXPECT_EQ(end->error->rank, 2);
  EXPECT_EQ(end->error->cause.code(), Code::kWorkerLost);
  EXPECT_EQ(end->error->ranks.size(), 3U);
}

TEST(StateMachine, TheEarliestOfSeveralErrorsIsTheCause) {
  RunDriver d(2);
  d.run().fail(0, Code::kUser, "second", 5.2).fail(1, Code::kUser, "first", 5.1).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "first");
}

TEST(StateMachine, DeathsThatWeBringAboutAreNoErrors) {
  RunDriver d(2);
  d.run().fail(0, Code::kUser, "boom").feed(event::VerdictDue{1}).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->ranks.size(), 1U);
}

TEST(StateMachine, ADyingRankEndsTheGroupAtOnceAndItsStatusIsTheCause) {
  RunDriver d(3);
  d.run().feed(event::Dying{1, 5.0});
  ASSERT_TRUE(d.find<action::KillGroup>());
  ASSERT_TRUE(d.find<action::TellDeath>());
  EXPECT_EQ(d.find<action::TellDeath>()->rank, 1);
  EXPECT_EQ(d.state(), RunState::kShuttingDown);
  d.feed(event::Gone{0, Error(Code::kWorkerLost, "killed with the group"), 6.0});
  d.feed(event::Gone{1, Error(Code::kWorkerLost, "SIGSEGV"), 7.0}).all_gone();
  const auto* end = d.find<action::EndAttempt>();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->error->rank, 1);
  EXPECT_EQ(end->error->cause.message(), "SIGSEGV");
  EXPECT_EQ(end->error->ranks.size(), 1U);
}

TEST(StateMachine, WhatADeathDidToAnotherRankIsNotTheCause) {
  RunDriver d(2);
  d.run().fail(0, Code::kPeerLost, "connection reset by rank 1", 4.9).feed(event::Dying{1, 5.0});
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_TRUE(d.find<action::TellDeath>());
  d.feed(event::Gone{1, Error(Code::kWorkerLost, "out of memory"), 7.0}).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "out of memory");
}

TEST(StateMachine, ADeathThatIsExpectedOrKnownIsNoNews) {
  RunDriver failed(2);
  failed.run().fail(1, Code::kUser, "boom").feed(event::Dying{1, 5});
  EXPECT_FALSE(failed.find<action::KillGroup>());
  EXPECT_FALSE(failed.find<action::TellDeath>());
  RunDriver returned(2);
  returned.run().feed(event::Returned{1}).feed(event::Dying{1, 5});
  EXPECT_FALSE(returned.find<action::KillGroup>());
  RunDriver finished(1);
  finished.run().feed(event::Returned{0}).feed(event::Dying{0, 5}).die(0);
  ASSERT_TRUE(finished.find<action::EndAttempt>());
  EXPECT_FALSE(finished.find<action::EndAttempt>()->error);
}

TEST(StateMachine, TheDeathOfARankThatHadReturnedIsTheCauseOfWhatItDidToAnotherOne) {
  RunDriver d(2);
  d.run().feed(event::Returned{1}).feed(event::Dying{1, 5.0});
  d.fail(0, Code::kPeerLost, "connection reset by rank 1", 6.0);
  d.feed(event::VerdictDue{d.attempt()}).all_gone();
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->rank, 1);
}

TEST(StateMachine, ARankThatDiesWhileTheGroupStartsIsAFailedStart) {
  RunDriver d(2);
  d.start_group().all_reach(Phase::kHello).feed(event::Dying{1, 5}).die(1).die(0);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->kind, FailureKind::kController);
}

TEST(StateMachine, ARetryIsANewAttempt) {
  RunDriver d(2, 1);
  d.run().die(1).feed(event::VerdictDue{1}).all_gone().feed(event::AttemptEnded{true});
  ASSERT_TRUE(d.find<action::TellFailure>());
  EXPECT_TRUE(d.find<action::TellFailure>()->decision.retry);
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.feed(event::RetryDue{1}).grant(2);
  ASSERT_TRUE(d.find<action::BeginAttempt>());
  EXPECT_EQ(d.attempt(), 2);
  d.begin_attempt().all_reach(Phase::kRunning).die(0).feed(event::VerdictDue{2}).all_gone();
  d.feed(event::AttemptEnded{true});
  EXPECT_FALSE(d.find<action::TellFailure>()->decision.retry);
  d.feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
}

TEST(StateMachine, TimersOfAnOlderAttemptDoNothing) {
  RunDriver d(1, 1);
  d.run().die(0).feed(event::AttemptEnded{false}).feed(event::RetryDue{1}).grant(1).begin_attempt();
  d.feed(event::VerdictDue{1}).feed(event::DeadlinePassed{1}).feed(event::RetryDue{1});
  EXPECT_EQ(d.state(), RunState::kScheduling);
  EXPECT_FALSE(d.find<action::KillGroup>());
}

// behaviour: deadline of the start
TEST(StateMachine, AStartThatHangsNamesRankAndPhase) {
  RunDriver d(2, 1);
  d.start_group().all_reach(Phase::kHello).feed(event::PhaseReached{0, Phase::kEngineLoaded});
  d.feed(event::DeadlinePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone();
  const auto error = d.find<action::EndAttempt>()->error;
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause.code(), Code::kTimeout);
  EXPECT_EQ(error->cause.message(),
            "rank 1 did not reach 'engine_loaded' within 60 s: it is still at 'hello'");
  d.feed(event::AttemptEnded{false});
  EXPECT_EQ(d.state(), RunState::kRescheduling);
}

TEST(StateMachine, AGroupThatCannotBeSpawnedWaitsOnlyForTheRanksThatWere) {
  RunDriver d(3);
  d.start_group().feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 1, 3});
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::EndAttempt>());
  d.die(0);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "no memory");
}

TEST(StateMachine, AGroupThatOneNodeCannotSpawnWaitsForTheRanksOfTheOthers) {
  RunDriver d(4);
  d.start_group().feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 1, 2});
  d.die(0);
  EXPECT_FALSE(d.find<action::EndAttempt>()) << "ranks 2 and 3 are another node's, which has them";
  d.die(2);
  EXPECT_FALSE(d.find<action::EndAttempt>());
  d.feed(event::SpawnFailed{Error(Code::kEnvironment, "no processes"), 3, 4});
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "no memory");
}

TEST(StateMachine, ANodeThatIsEvictedEndsTheAttemptAndCostsNoRetryOfTheScript) {
  const Error error(Code::kWorkerLost, "evicted: node n1: its link");
  RunDriver d(2);
  d.run().feed(event::NodeUnhealthy{1, error, FailureKind::kPreemption});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone();
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "evicted: node n1: its link");
  EXPECT_EQ(d.find<action::EndAttempt>()->error->rank, 1);
  d.feed(event::AttemptEnded{false});
  EXPECT_TRUE(d.find<action::SetRetryTimer>()) << "max_failures is 0";
  d.retry(2);
  EXPECT_EQ(d.state(), RunState::kRunning);
}

TEST(StateMachine, ANodeThatIsEvictedAfterTheEndOfItsAttemptChangesNothing) {
  const event::NodeUnhealthy late{1, Error(Code::kWorkerLost, "late"), FailureKind::kPreemption};
  RunDriver d(2);
  d.run().die(0).feed(late).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "rank died");
  d.feed(late);
  EXPECT_FALSE(d.has_acted());
}

// behaviour: start, scheduling, running
TEST(StateMachine, StartGoesThroughSchedulingToRunningAndNoRoomKeepsInitializing) {
  RunDriver d(2);
  d.feed(event::Started{});
  ASSERT_TRUE(d.find<action::RequestResources>());
  EXPECT_EQ(d.find<action::RequestResources>()->min_workers, 2);
  EXPECT_EQ(d.state(), RunState::kInitializing);
  d.grant(2);
  EXPECT_EQ(d.state(), RunState::kScheduling);
  d.begin_attempt().all_reach(Phase::kRunning);
  EXPECT_EQ(d.state(), RunState::kRunning);
  d.grant(2);
  EXPECT_FALSE(d.find<action::BeginAttempt>()) << "an answer that nobody waits for";
}

// behaviour: a request that can never be met
TEST(StateMachine, WhatCanNeverBeHadEndsTheRunWithoutARetry) {
  RunDriver d(8, -1);
  d.feed(event::Started{}).feed(event::ResourcesRefused{Error(Code::kEnvironment, "8 cores, 2")});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->error->kind, FailureKind::kController);
  d.feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
  EXPECT_EQ(d.find<action::Finish>()->error->cause.message(), "8 cores, 2");
}

// behaviour: a worker's error, with and without retry
TEST(StateMachine, WorkerErrorIsRetriedOrRaised) {
  RunDriver d(2, 1);
  d.run().lose_attempt();
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.feed(event::RetryDue{1});
  EXPECT_EQ(d.state(), RunState::kRestarting) << "until the resources are there";
  d.grant(2);
  EXPECT_EQ(d.state(), RunState::kScheduling);
  d.begin_attempt().all_reach(Phase::kRunning);
  EXPECT_EQ(d.state(), RunState::kRunning);
  d.lose_attempt();
  EXPECT_EQ(d.state(), RunState::kShuttingDown);
  d.feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
}

// behaviour: a failed start
TEST(StateMachine, AFailedStartIsRescheduled) {
  RunDriver late(2);
  late.start_group().feed(event::DeadlinePassed{1}).all_gone().feed(event::AttemptEnded{false});
  EXPECT_EQ(late.state(), RunState::kRescheduling) << "not charged to max_failures = 0";
  late.retry(2);
  EXPECT_EQ(late.state(), RunState::kRunning);

  RunDriver crashed(2);
  crashed.start_group().all_reach(Phase::kHello).lose_attempt();
  EXPECT_EQ(crashed.state(), RunState::kRescheduling);
  EXPECT_EQ(crashed.find<action::TellFailure>()->error.kind, FailureKind::kController);
}

// behaviour: a crash at the start
TEST(StateMachine, ACrashWhileStartingTakesTheOthersDown) {
  RunDriver d(3);
  d.start_group().feed(event::PhaseReached{0, Phase::kRunning}).die(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_TRUE(d.find<action::TellDeath>());
  d.all_gone();
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->kind, FailureKind::kController);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->ranks.size(), 1U);
}

// behaviour: separate budgets
TEST(StateMachine, FailedStartsAndWorkerErrorsHaveBudgetsOfTheirOwn) {
  RunDriver d(ScalingPolicy::fixed(1), {.max_failures = 1, .controller_failure_limit = 1});
  d.start_group().lose_attempt();
  EXPECT_EQ(d.state(), RunState::kRescheduling);
  d.retry(1).lose_attempt();
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.feed(event::RetryDue{2}).grant(1).begin_attempt().lose_attempt();
  EXPECT_EQ(d.state(), RunState::kShuttingDown) << "the second failed start";
}

TEST(StateMachine, ATransientFailureToSpawnIsRetried) {
  const Error error(Code::kEnvironment, "fork: try again");
  RunDriver d(2);
  d.start_group().feed(event::SpawnFailed{error, 1, 2, true}).die(0);
  EXPECT_TRUE(d.feed(event::AttemptEnded{false}).find<action::SetRetryTimer>());
  RunDriver for_ever(2);
  for_ever.start_group().feed(event::SpawnFailed{error, 1, 2}).die(0);
  EXPECT_TRUE(for_ever.feed(event::AttemptEnded{false}).find<action::EndRun>());
}

TEST(StateMachine, AnElasticRunRestartsWithWhatIsThereAndStillPays) {
  RunDriver d(ScalingPolicy::elastic(1, 4, 60), {.max_failures = 1});
  d.feed(event::Started{}).resize(4).lose_attempt().retry(3);
  EXPECT_EQ(d.state(), RunState::kRunning);
  d.lose_attempt();
  EXPECT_TRUE(d.find<action::EndRun>());
}

// fault: storm of failures
TEST(StateMachine, AStormOfFailuresIsOneDecision) {
  RunDriver d(64, 1);
  d.run();
  for (int rank = 0; rank < 63; ++rank) d.fail(rank, Code::kUser, "boom", rank);
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.fail(63, Code::kUser, "boom", 63).all_gone().feed(event::AttemptEnded{true});
  ASSERT_TRUE(d.find<action::TellFailure>());
  EXPECT_TRUE(d.find<action::TellFailure>()->decision.retry);
  EXPECT_EQ(d.find<action::TellFailure>()->error.ranks.size(), 64U);
  EXPECT_EQ(d.find<action::TellFailure>()->error.rank, 0);
}

// behaviour: failure of the shutdown after success
TEST(StateMachine, AFailureWhileShuttingDownAfterSuccessIsTheRunsError) {
  RunDriver d(1);
  d.run().feed(event::Returned{0}).die(0).feed(event::AttemptEnded{false});
  d.feed(event::StorageFailed{Error(Code::kEnvironment, "disk full")}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
  EXPECT_EQ(d.find<action::Finish>()->error->kind, FailureKind::kController);
  EXPECT_EQ(error_kind_name(d.find<action::Finish>()->error->kind), "ControllerError");
}

// behaviour: failure of the shutdown after an error
TEST(StateMachine, AFailureWhileShuttingDownAfterAnErrorKeepsTheError) {
  const Event full = event::StorageFailed{Error(Code::kEnvironment, "disk full")};
  RunDriver at_once(1, 3);
  at_once.run().fail(0, Code::kUser, "boom").feed(full).die(0).feed(event::AttemptEnded{false});
  ASSERT_TRUE(at_once.find<action::EndRun>()) << "nothing can be recorded any more";
  EXPECT_EQ(at_once.find<action::EndRun>()->error->cause.message(), "boom");

  RunDriver later(1);
  later.run().lose_attempt().feed(full).feed(event::RunEnded{});
  EXPECT_EQ(later.find<action::Finish>()->error->cause.code(), Code::kWorkerLost);
}

TEST(StateMachine, AStorageFailureEndsTheRunWithThatError) {
  const Event full = event::StorageFailed{Error(Code::kEnvironment, "disk full")};
  RunDriver d(2, -1);
  d.run().feed(full);
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone().feed(full).feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  d.feed(full).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
  EXPECT_EQ(d.find<action::Finish>()->error->cause.message(), "disk full");
}

TEST(StateMachine, AStartDeadlineLeavesARankThatRaisedItsVerdict) {
  RunDriver d(2);
  d.start_group().all_reach(Phase::kHello).feed(event::PhaseReached{1, Phase::kRunning});
  d.fail(1, Code::kUser, "raised").feed(event::PhaseReached{0, Phase::kRunning});
  d.feed(event::DeadlinePassed{1});
  EXPECT_FALSE(d.has_acted()) << "every rank has started, the verdict is due in half a second";
  d.feed(event::VerdictDue{1}).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "raised");

  RunDriver late(2);
  late.start_group().all_reach(Phase::kHello).feed(event::PhaseReached{1, Phase::kRunning});
  late.fail(1, Code::kUser, "raised").feed(event::DeadlinePassed{1});
  EXPECT_FALSE(late.has_acted());
  late.feed(event::VerdictDue{1}).all_gone();
  EXPECT_EQ(late.find<action::EndAttempt>()->error->cause.message(), "raised")
      << "a failure that came first stays the run's error";
}

TEST(StateMachine, ARankThatCannotBeSpawnedLeavesTheErrorOfOneThatRaised) {
  RunDriver d(2);
  d.start_group().feed(event::PhaseReached{1, Phase::kHello}).fail(1, Code::kUser, "raised");
  d.feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 0, 1});
  EXPECT_TRUE(d.find<action::KillGroup>()) << "nothing more can be learned";
  d.die(1);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "raised");
}

TEST(StateMachine, AStorageFailureWhileARetryIsDueEndsTheRunWithAnError) {
  const Event full = event::StorageFailed{Error(Code::kEnvironment, "disk full")};
  RunDriver failed(1, 1);
  failed.run().lose_attempt().feed(full);
  EXPECT_EQ(failed.find<action::EndRun>()->error->cause.code(), Code::kWorkerLost)
      << "a failure that came first stays the run's error";

  RunDriver shrunk(ScalingPolicy::elastic(1, 4, 60), {.max_preemption_failures = 1});
  shrunk.feed(event::Started{}).resize(4).feed(event::ResourcesSeen{1, 2});
  shrunk.feed(event::GracePassed{1}).all_gone().feed(event::AttemptEnded{false}).feed(full);
  EXPECT_EQ(shrunk.find<action::EndRun>()->error->cause.message(), "disk full");
}

TEST(StateMachine, EventsOfRanksWhoseAttemptIsOverChangeNothing) {
  RunDriver d(2, -1);
  d.run().die(0).all_gone();
  for (const bool row_is_closed : {false, true}) {
    if (row_is_closed) d.feed(event::AttemptEnded{false});
    const RunState state = d.state();
    const std::vector<Event> late = {event::Failed{1, Error(Code::kTimeout, "the run hangs"), 9},
                                     event::Returned{1}, event::PhaseReached{1, Phase::kRunning},
                                     event::Dying{1, 9},
                                     event::Gone{1, Error(Code::kWorkerLost, "again"), 9}};
    for (const Event& event : late) {
      d.feed(event);
      EXPECT_FALSE(d.has_acted());
      EXPECT_EQ(d.state(), state);
    }
  }
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.retry(2);
  EXPECT_EQ(d.state(), RunState::kRunning);
}

}  // namespace
}  // namespace rtrain::decide
