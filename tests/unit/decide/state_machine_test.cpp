#include "host/decide/state_machine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rtrain {
namespace {

// A run that is driven by events; the actions of the last event are at hand.
class Driver {
 public:
  explicit Driver(int workers, int max_failures = 0)
      : Driver(ScalingPolicy::fixed(workers), {.max_failures = max_failures}) {}
  Driver(ScalingPolicy scaling, const FailureLimits& limits)
      : machine_(scaling, FailurePolicy(limits, 1)) {}

  Driver& feed(const Event& event) {
    Step next = step(std::move(machine_), event);
    machine_ = std::move(next.machine);
    actions_ = std::move(next.actions);
    return *this;
  }

  template <class T>
  const T* find() const {
    for (const Action& action : actions_) {
      if (const T* found = std::get_if<T>(&action)) return found;
    }
    return nullptr;
  }

  Driver& start_group() {
    feed(event::Started{});
    return grant(machine_.scaling.max_workers()).begin_attempt();
  }
  Driver& grant(int workers) { return feed(event::ResourcesGranted{workers}); }
  Driver& begin_attempt() { return feed(event::AttemptBegun{}); }
  Driver& all_reach(Phase phase) {
    for (int rank = 0; rank < machine_.num_workers; ++rank) feed(event::PhaseReached{rank, phase});
    return *this;
  }
  Driver& run() { return start_group().all_reach(Phase::kHello).all_reach(Phase::kRunning); }
  Driver& fail(int rank, Code code, const char* text, double time_s = 1) {
    return feed(event::Failed{rank, Error(code, text), time_s});
  }
  Driver& die(int rank) {
    return feed(event::Gone{rank, Error(Code::kWorkerLost, "rank died"), 2});
  }
  Driver& all_gone() {
    for (int rank = 0; rank < machine_.num_workers; ++rank) {
      if (!machine_.ranks[static_cast<size_t>(rank)].gone) die(rank);
    }
    return *this;
  }

  // The attempt fails, its processes end and its row is closed.
  Driver& lose_attempt(bool new_checkpoint = false) {
    die(0).feed(event::VerdictDue{machine_.attempt}).all_gone();
    return feed(event::AttemptEnded{new_checkpoint});
  }
  // The next attempt runs.
  Driver& retry(int workers) {
    feed(event::RetryDue{machine_.attempt});
    return resize(workers);
  }
  Driver& resize(int workers) { return grant(workers).begin_attempt().all_reach(Phase::kRunning); }

  RunState state() const { return machine_.state; }
  int attempt() const { return machine_.attempt; }
  bool has_acted() const { return !actions_.empty(); }

 private:
  Machine machine_;
  std::vector<Action> actions_;
};

TEST(StateMachine, SpawnsOnlyAfterTheAttemptIsOnDisk) {
  Driver d(2);
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
  Driver d(2);
  d.start_group().feed(event::PhaseReached{1, Phase::kHello});
  ASSERT_TRUE(d.find<action::SendStart>());
  EXPECT_EQ(d.find<action::SendStart>()->rank, 1);
}

TEST(StateMachine, RunsWhenEveryRankRuns) {
  Driver d(2);
  d.start_group().all_reach(Phase::kHello);
  EXPECT_TRUE(d.find<action::SetDeadline>());
  d.feed(event::PhaseReached{0, Phase::kRunning});
  EXPECT_EQ(d.state(), RunState::kScheduling);
  d.feed(event::PhaseReached{1, Phase::kRunning});
  EXPECT_EQ(d.state(), RunState::kRunning);
  EXPECT_TRUE(d.find<action::ClearDeadline>());
}

TEST(StateMachine, FinishesInOrder) {
  Driver d(2);
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
  Driver d(1);
  d.run().feed(event::Returned{0}).feed(event::DeadlinePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.die(0);
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
}

TEST(StateMachine, TheVerdictWaitsForTheOtherRanksButNotForEver) {
  Driver d(3);
  d.run().fail(1, Code::kUser, "boom");
  EXPECT_TRUE(d.find<action::SetVerdictTimer>());
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.feed(event::VerdictDue{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(StateMachine, TheVerdictComesAtOnceWhenAllRanksAreAccountedFor) {
  Driver d(3);
  d.run().feed(event::Returned{2}).fail(1, Code::kUser, "boom");
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.fail(0, Code::kPeerLost, "connection reset");
  EXPECT_TRUE(d.find<action::KillGroup>());
}

TEST(StateMachine, PeerLostIsNeverTheCauseBesideAnotherError) {
  Driver d(3);
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
  Driver d(2);
  d.run().fail(0, Code::kUser, "second", 5.2).fail(1, Code::kUser, "first", 5.1).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "first");
}

TEST(StateMachine, DeathsThatWeBringAboutAreNoErrors) {
  Driver d(2);
  d.run().fail(0, Code::kUser, "boom").feed(event::VerdictDue{1}).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->ranks.size(), 1U);
}

TEST(StateMachine, ADyingRankEndsTheGroupAtOnceAndItsStatusIsTheCause) {
  Driver d(3);
  d.run().feed(event::Dying{1, 5.0});
  ASSERT_TRUE(d.find<action::KillGroup>());
  ASSERT_TRUE(d.find<action::ReportDeath>());
  EXPECT_EQ(d.find<action::ReportDeath>()->rank, 1);
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
  Driver d(2);
  d.run().fail(0, Code::kPeerLost, "connection reset by rank 1", 4.9).feed(event::Dying{1, 5.0});
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_TRUE(d.find<action::ReportDeath>());
  d.feed(event::Gone{1, Error(Code::kWorkerLost, "out of memory"), 7.0}).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "out of memory");
}

TEST(StateMachine, ADeathThatIsExpectedOrKnownIsNoNews) {
  Driver failed(2);
  failed.run().fail(1, Code::kUser, "boom").feed(event::Dying{1, 5});
  EXPECT_FALSE(failed.find<action::KillGroup>());
  EXPECT_FALSE(failed.find<action::ReportDeath>());
  Driver returned(2);
  returned.run().feed(event::Returned{1}).feed(event::Dying{1, 5});
  EXPECT_FALSE(returned.find<action::KillGroup>());
  Driver finished(1);
  finished.run().feed(event::Returned{0}).feed(event::Dying{0, 5}).die(0);
  ASSERT_TRUE(finished.find<action::EndAttempt>());
  EXPECT_FALSE(finished.find<action::EndAttempt>()->error);
}

TEST(StateMachine, ARankThatDiesWhileTheGroupStartsIsAFailedStart) {
  Driver d(2);
  d.start_group().all_reach(Phase::kHello).feed(event::Dying{1, 5}).die(1).die(0);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->kind, FailureKind::kController);
}

TEST(StateMachine, ARetryIsANewAttempt) {
  Driver d(2, 1);
  d.run().die(1).feed(event::VerdictDue{1}).all_gone().feed(event::AttemptEnded{true});
  ASSERT_TRUE(d.find<action::ReportFailure>());
  EXPECT_TRUE(d.find<action::ReportFailure>()->decision.retry);
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.feed(event::RetryDue{1}).grant(2);
  ASSERT_TRUE(d.find<action::BeginAttempt>());
  EXPECT_EQ(d.attempt(), 2);
  d.begin_attempt().all_reach(Phase::kRunning).die(0).feed(event::VerdictDue{2}).all_gone();
  d.feed(event::AttemptEnded{true});
  EXPECT_FALSE(d.find<action::ReportFailure>()->decision.retry);
  d.feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
}

TEST(StateMachine, TimersOfAnOlderAttemptDoNothing) {
  Driver d(1, 1);
  d.run().die(0).feed(event::AttemptEnded{false}).feed(event::RetryDue{1}).grant(1).begin_attempt();
  d.feed(event::VerdictDue{1}).feed(event::DeadlinePassed{1}).feed(event::RetryDue{1});
  EXPECT_EQ(d.state(), RunState::kScheduling);
  EXPECT_FALSE(d.find<action::KillGroup>());
}

// behaviour: deadline of the start
TEST(StateMachine, AStartThatHangsNamesRankAndPhase) {
  Driver d(2, 1);
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
  Driver d(3);
  d.start_group().feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 1, 3});
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::EndAttempt>());
  d.die(0);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "no memory");
}

TEST(StateMachine, AGroupThatOneHostCannotSpawnWaitsForTheRanksOfTheOthers) {
  Driver d(4);
  d.start_group().feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 1, 2});
  d.die(0);
  EXPECT_FALSE(d.find<action::EndAttempt>()) << "ranks 2 and 3 are another host's, which has them";
  d.die(2);
  EXPECT_FALSE(d.find<action::EndAttempt>());
  d.feed(event::SpawnFailed{Error(Code::kEnvironment, "no processes"), 3, 4});
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "no memory");
}

TEST(StateMachine, AHostThatIsEvictedEndsTheAttemptAndCostsNoRetryOfTheScript) {
  const Error error(Code::kWorkerLost, "evicted: host n1: its link");
  Driver d(2);
  d.run().feed(event::NodeUnhealthy{1, error, FailureKind::kPreemption});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone();
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "evicted: host n1: its link");
  EXPECT_EQ(d.find<action::EndAttempt>()->error->rank, 1);
  d.feed(event::AttemptEnded{false});
  EXPECT_TRUE(d.find<action::SetRetryTimer>()) << "max_failures is 0";
  d.retry(2);
  EXPECT_EQ(d.state(), RunState::kRunning);
}

TEST(StateMachine, AHostThatIsEvictedAfterTheEndOfItsAttemptChangesNothing) {
  const event::NodeUnhealthy late{1, Error(Code::kWorkerLost, "late"), FailureKind::kPreemption};
  Driver d(2);
  d.run().die(0).feed(late).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "rank died");
  d.feed(late);
  EXPECT_FALSE(d.has_acted());
}

// behaviour: start, scheduling, running
TEST(StateMachine, StartGoesThroughSchedulingToRunningAndNoRoomKeepsInitializing) {
  Driver d(2);
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
  Driver d(8, -1);
  d.feed(event::Started{}).feed(event::ResourcesRefused{Error(Code::kEnvironment, "8 cores, 2")});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->error->kind, FailureKind::kController);
  d.feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
  EXPECT_EQ(d.find<action::Finish>()->error->cause.message(), "8 cores, 2");
}

// behaviour: a worker's error, with and without retry
TEST(StateMachine, WorkerErrorIsRetriedOrRaised) {
  Driver d(2, 1);
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
  Driver late(2);
  late.start_group().feed(event::DeadlinePassed{1}).all_gone().feed(event::AttemptEnded{false});
  EXPECT_EQ(late.state(), RunState::kRescheduling) << "not charged to max_failures = 0";
  late.retry(2);
  EXPECT_EQ(late.state(), RunState::kRunning);

  Driver crashed(2);
  crashed.start_group().all_reach(Phase::kHello).lose_attempt();
  EXPECT_EQ(crashed.state(), RunState::kRescheduling);
  EXPECT_EQ(crashed.find<action::ReportFailure>()->error.kind, FailureKind::kController);
}

// behaviour: a crash at the start
TEST(StateMachine, ACrashWhileStartingTakesTheOthersDown) {
  Driver d(3);
  d.start_group().feed(event::PhaseReached{0, Phase::kRunning}).die(1);
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_TRUE(d.find<action::ReportDeath>());
  d.all_gone();
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->kind, FailureKind::kController);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->ranks.size(), 1U);
}

// behaviour: separate budgets
TEST(StateMachine, FailedStartsAndWorkerErrorsHaveBudgetsOfTheirOwn) {
  Driver d(ScalingPolicy::fixed(1), {.max_failures = 1, .controller_failure_limit = 1});
  d.start_group().lose_attempt();
  EXPECT_EQ(d.state(), RunState::kRescheduling);
  d.retry(1).lose_attempt();
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.feed(event::RetryDue{2}).grant(1).begin_attempt().lose_attempt();
  EXPECT_EQ(d.state(), RunState::kShuttingDown) << "the second failed start";
}

TEST(StateMachine, ATransientFailureToSpawnIsRetried) {
  const Error error(Code::kEnvironment, "fork: try again");
  Driver d(2);
  d.start_group().feed(event::SpawnFailed{error, 1, 2, true}).die(0);
  EXPECT_TRUE(d.feed(event::AttemptEnded{false}).find<action::SetRetryTimer>());
  Driver for_ever(2);
  for_ever.start_group().feed(event::SpawnFailed{error, 1, 2}).die(0);
  EXPECT_TRUE(for_ever.feed(event::AttemptEnded{false}).find<action::EndRun>());
}

TEST(StateMachine, AStopAsksARunningGroupAndKillsItAfterTheGracePeriod) {
  Driver d(2, -1);
  d.run().feed(event::StopRequested{StopKind::kInterrupt});
  ASSERT_TRUE(d.find<action::AskToStop>());
  EXPECT_FALSE(d.find<action::KillGroup>());
  EXPECT_EQ(d.state(), RunState::kRunning);
  d.feed(event::GracePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kAborted);
  d.feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
  EXPECT_EQ(d.find<action::Finish>()->error->cause.code(), Code::kInterrupted);
}

// behaviour: abort
TEST(StateMachine, AbortClosesTheAttemptAndEndsInAborted) {
  Driver d(2, -1);
  d.run().feed(event::StopNow{StopKind::kOperator, "`rtrain stop` (pid 7)"});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone();
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kAborted);
  EXPECT_FALSE(d.find<action::EndRun>()) << "only when the attempt's row is closed";
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_FALSE(d.find<action::Finish>());
  d.feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
}

TEST(StateMachine, ACheckpointAfterTheRequestEndsTheGroup) {
  Driver d(2);
  d.run().feed(event::StopComplete{1});
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.feed(event::StopRequested{StopKind::kInterrupt}).feed(event::CheckpointCommitted{1});
  EXPECT_FALSE(d.find<action::KillGroup>()) << "the train function may be about to return";
  d.feed(event::StopComplete{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone().feed(event::AttemptEnded{true}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
}

TEST(StateMachine, ATerminatedRunThatSavedIsPreempted) {
  Driver d(2);
  d.run().feed(event::StopRequested{StopKind::kTerminate});
  EXPECT_EQ(d.state(), RunState::kPreempting);
  d.feed(event::StopSeen{}).feed(event::CheckpointCommitted{1});
  d.feed(event::StopComplete{1}).all_gone();
  d.feed(event::AttemptEnded{true}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kPreempted);
  EXPECT_EQ(exit_code(d.find<action::Finish>()->error->cause.code()), 75);
  EXPECT_EQ(d.find<action::Finish>()->error->kind, FailureKind::kPreemption);
}

TEST(StateMachine, ATerminatedRunThatDidNotSaveIsAborted) {
  Driver d(2);
  d.run().feed(event::StopRequested{StopKind::kTerminate}).feed(event::GracePassed{1}).all_gone();
  d.feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
  EXPECT_EQ(exit_code(d.find<action::Finish>()->error->cause.code()), 143);
}

// behaviour: a clean return during a stop
TEST(StateMachine, ACleanReturnDuringAStopFinishesTheRun) {
  const std::vector<Event> stops = {event::StopRequested{StopKind::kTerminate},
                                    event::StopRequested{StopKind::kInterrupt},
                                    event::ResourcesSeen{1, 1}};
  for (const Event& stop : stops) {
    Driver d(ScalingPolicy::elastic(1, 2, 60), {});
    d.run().feed(stop);
    ASSERT_TRUE(d.find<action::AskToStop>());
    d.feed(event::Returned{0}).feed(event::Returned{1}).die(0).die(1);
    EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
    d.feed(event::AttemptEnded{false}).feed(event::RunEnded{});
    EXPECT_EQ(d.state(), RunState::kFinished);
  }
}

TEST(StateMachine, ARunThatReturnsBecauseItWasToldToStopIsStopped) {
  Driver d(1);
  d.run().feed(event::StopRequested{StopKind::kInterrupt}).feed(event::StopSeen{});
  d.feed(event::Returned{0}).die(0).feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
}

TEST(StateMachine, APredicateFinishesTheRun) {
  Driver d(1);
  d.run().feed(event::StopRequested{StopKind::kPredicate}).feed(event::GracePassed{1}).all_gone();
  d.feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kFinished);
  EXPECT_FALSE(d.find<action::Finish>()->error);
}

TEST(StateMachine, AStrongerStopTakesOver) {
  Driver d(ScalingPolicy::elastic(1, 2, 60), {});
  d.feed(event::Started{}).resize(1).feed(event::ResourcesSeen{1, 2});
  d.feed(event::StopSeen{}).feed(event::Returned{0});
  d.feed(event::StopRequested{StopKind::kInterrupt}).die(0).feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>()) << "the run does not go on in another size";
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kAborted);

  Driver two(1);
  two.run().feed(event::StopRequested{StopKind::kTerminate});
  two.feed(event::StopRequested{StopKind::kInterrupt}).feed(event::GracePassed{1}).all_gone();
  EXPECT_EQ(two.find<action::EndAttempt>()->error->cause.code(), Code::kTerminated) << "the first";
}

// behaviour: a user's error during a stop
TEST(StateMachine, AUserErrorDuringAStopIsAWorkerFailure) {
  Driver d(1);
  d.run().feed(event::StopRequested{StopKind::kTerminate}).fail(0, Code::kUser, "boom").die(0);
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->error->cause.message(), "boom");
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kErrored);
  EXPECT_EQ(d.find<action::EndRun>()->error->kind, FailureKind::kWorkerGroup);

  Driver retryable(1, 5);
  retryable.run().feed(event::StopRequested{StopKind::kTerminate}).fail(0, Code::kUser, "boom");
  retryable.die(0).feed(event::AttemptEnded{false});
  ASSERT_TRUE(retryable.find<action::ReportFailure>());
  EXPECT_FALSE(retryable.find<action::ReportFailure>()->decision.retry) << "not on this machine";
  EXPECT_EQ(retryable.find<action::EndRun>()->status, RunState::kAborted);
}

TEST(StateMachine, ARankThatIsLostDuringAStopWentWithWhatStopsIt) {
  Driver d(2);
  d.run().feed(event::StopRequested{StopKind::kTerminate}).feed(event::CheckpointCommitted{1});
  d.die(1).all_gone().feed(event::AttemptEnded{true}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kPreempted);

  Driver resized(ScalingPolicy::elastic(1, 4, 60), {});
  resized.feed(event::Started{}).resize(2).feed(event::ResourcesSeen{1, 4});
  resized.die(0).all_gone().feed(event::AttemptEnded{false});
  EXPECT_TRUE(resized.find<action::EndRun>()) << "a request of the run itself kills nobody";
}

// behaviour: budget of preemptions
TEST(StateMachine, APreemptionBudgetThatIsUsedUpIsNoInvitationToRunAgain) {
  Driver d(ScalingPolicy::fixed(1), {.max_preemption_failures = 0});
  d.run().feed(event::StopRequested{StopKind::kTerminate}).feed(event::CheckpointCommitted{1});
  d.feed(event::StopComplete{1}).all_gone().feed(event::AttemptEnded{true}).feed(event::RunEnded{});
  const auto& error = *d.find<action::Finish>()->error;
  EXPECT_EQ(error.kind, FailureKind::kPreemption);
  EXPECT_EQ(error_kind_name(error.kind), "PreemptionError");
  EXPECT_NE(exit_code(error.cause.code()), 75);
  EXPECT_NE(error.cause.message().find("max_preemption_failures = 0"), std::string::npos);
}

TEST(StateMachine, StopEndsTheRunInEveryState) {
  const Event stop = event::StopRequested{StopKind::kTerminate};
  Driver queued(1);
  queued.feed(event::Started{}).feed(stop);
  EXPECT_TRUE(queued.find<action::EndRun>());
  queued.grant(1);
  EXPECT_FALSE(queued.find<action::BeginAttempt>());

  Driver scheduling(1);
  scheduling.feed(event::Started{}).grant(1).feed(stop).begin_attempt();
  EXPECT_TRUE(scheduling.find<action::EndAttempt>());
  EXPECT_FALSE(scheduling.find<action::SpawnGroup>());

  Driver starting(1);
  starting.start_group().feed(stop);
  EXPECT_TRUE(starting.find<action::KillGroup>()) << "nothing to save yet";

  Driver waiting(1, 1);
  waiting.run().die(0).feed(event::AttemptEnded{false}).feed(stop);
  EXPECT_TRUE(waiting.find<action::EndRun>());
  waiting.feed(event::RetryDue{1});
  EXPECT_FALSE(waiting.find<action::RequestResources>());

  Driver ending(1, 1);
  ending.run().die(0).feed(stop).feed(event::AttemptEnded{false});
  EXPECT_EQ(ending.find<action::EndRun>()->status, RunState::kAborted);
}

TEST(StateMachine, AStopAfterAllRanksReturnedComesTooLate) {
  Driver d(1);
  d.run().feed(event::Returned{0}).feed(event::StopRequested{StopKind::kInterrupt}).die(0);
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
}

// behaviour: resize of a running group
TEST(StateMachine, AResizeGoesThroughResizingAndSchedulingWithTheNewSize) {
  Driver d(ScalingPolicy::elastic(1, 4, 60), {});
  d.feed(event::Started{}).resize(2);
  ASSERT_EQ(d.state(), RunState::kRunning);
  d.feed(event::ResourcesSeen{1, 2});
  EXPECT_TRUE(d.find<action::SetResizeTimer>());
  EXPECT_FALSE(d.find<action::AskToStop>());
  d.feed(event::ResourcesSeen{1, 4});
  ASSERT_TRUE(d.find<action::AskToStop>());
  EXPECT_EQ(d.find<action::AskToStop>()->kind, StopKind::kResize);
  EXPECT_EQ(d.find<action::ReportResize>()->to, 4);
  d.feed(event::CheckpointCommitted{1}).feed(event::StopComplete{1}).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
  d.feed(event::AttemptEnded{true});
  EXPECT_EQ(d.state(), RunState::kResizing);
  EXPECT_FALSE(d.find<action::ReportFailure>()) << "no failure, charged to nothing";
  d.grant(4);
  EXPECT_EQ(d.state(), RunState::kScheduling);
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 4);
  d.begin_attempt();
  EXPECT_EQ(d.find<action::SpawnGroup>()->num_workers, 4);
  EXPECT_EQ(d.attempt(), 2);
}

TEST(StateMachine, AGroupThatOnlyGrowsWaitsForItsCheckpoint) {
  Driver d(ScalingPolicy::elastic(1, 4, 60), {});
  d.feed(event::Started{}).resize(2).feed(event::ResourcesSeen{1, 3}).feed(event::GracePassed{1});
  EXPECT_FALSE(d.find<action::KillGroup>());
}

// behaviour: the grace period passes
TEST(StateMachine, AShrinkThatCannotSaveIsAPreemptionAndNoWorkerFailure) {
  Driver d(ScalingPolicy::elastic(1, 4, 60), {.max_failures = 0, .max_preemption_failures = 1});
  d.feed(event::Started{}).resize(4).feed(event::ResourcesSeen{1, 2}).feed(event::GracePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone().feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::ReportFailure>());
  EXPECT_EQ(d.find<action::ReportFailure>()->error.kind, FailureKind::kPreemption);
  EXPECT_TRUE(d.find<action::ReportFailure>()->decision.retry);
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.retry(2);
  EXPECT_EQ(d.state(), RunState::kRunning);
}

TEST(StateMachine, AnElasticRunRestartsWithWhatIsThereAndStillPays) {
  Driver d(ScalingPolicy::elastic(1, 4, 60), {.max_failures = 1});
  d.feed(event::Started{}).resize(4).lose_attempt().retry(3);
  EXPECT_EQ(d.state(), RunState::kRunning);
  d.lose_attempt();
  EXPECT_TRUE(d.find<action::EndRun>());
}

// fault: storm of failures
TEST(StateMachine, AStormOfFailuresIsOneDecision) {
  Driver d(64, 1);
  d.run();
  for (int rank = 0; rank < 63; ++rank) d.fail(rank, Code::kUser, "boom", rank);
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.fail(63, Code::kUser, "boom", 63).all_gone().feed(event::AttemptEnded{true});
  ASSERT_TRUE(d.find<action::ReportFailure>());
  EXPECT_TRUE(d.find<action::ReportFailure>()->decision.retry);
  EXPECT_EQ(d.find<action::ReportFailure>()->error.ranks.size(), 64U);
  EXPECT_EQ(d.find<action::ReportFailure>()->error.rank, 0);
}

// behaviour: failure of the shutdown after success
TEST(StateMachine, AFailureWhileShuttingDownAfterSuccessIsTheRunsError) {
  Driver d(1);
  d.run().feed(event::Returned{0}).die(0).feed(event::AttemptEnded{false});
  d.feed(event::StorageFailed{Error(Code::kEnvironment, "disk full")}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
  EXPECT_EQ(d.find<action::Finish>()->error->kind, FailureKind::kController);
  EXPECT_EQ(error_kind_name(d.find<action::Finish>()->error->kind), "ControllerError");
}

// behaviour: failure of the shutdown after an error
TEST(StateMachine, AFailureWhileShuttingDownAfterAnErrorKeepsTheError) {
  const Event full = event::StorageFailed{Error(Code::kEnvironment, "disk full")};
  Driver at_once(1, 3);
  at_once.run().fail(0, Code::kUser, "boom").feed(full).die(0).feed(event::AttemptEnded{false});
  ASSERT_TRUE(at_once.find<action::EndRun>()) << "nothing can be recorded any more";
  EXPECT_EQ(at_once.find<action::EndRun>()->error->cause.message(), "boom");

  Driver later(1);
  later.run().lose_attempt().feed(full).feed(event::RunEnded{});
  EXPECT_EQ(later.find<action::Finish>()->error->cause.code(), Code::kWorkerLost);
}

TEST(StateMachine, AStorageFailureEndsTheRunWithThatError) {
  const Event full = event::StorageFailed{Error(Code::kEnvironment, "disk full")};
  Driver d(2, -1);
  d.run().feed(full);
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone().feed(full).feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  d.feed(full).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
  EXPECT_EQ(d.find<action::Finish>()->error->cause.message(), "disk full");
}

TEST(StateMachine, AStartDeadlineLeavesARankThatRaisedItsVerdict) {
  Driver d(2);
  d.start_group().all_reach(Phase::kHello).feed(event::PhaseReached{1, Phase::kRunning});
  d.fail(1, Code::kUser, "raised").feed(event::PhaseReached{0, Phase::kRunning});
  d.feed(event::DeadlinePassed{1});
  EXPECT_FALSE(d.has_acted()) << "every rank has started, the verdict is due in half a second";
  d.feed(event::VerdictDue{1}).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "raised");

  Driver late(2);
  late.start_group().all_reach(Phase::kHello).feed(event::PhaseReached{1, Phase::kRunning});
  late.fail(1, Code::kUser, "raised").feed(event::DeadlinePassed{1});
  EXPECT_FALSE(late.has_acted());
  late.feed(event::VerdictDue{1}).all_gone();
  EXPECT_EQ(late.find<action::EndAttempt>()->error->cause.message(), "raised")
      << "a failure that came first stays the run's error";
}

TEST(StateMachine, ARankThatCannotBeSpawnedLeavesTheErrorOfOneThatRaised) {
  Driver d(2);
  d.start_group().feed(event::PhaseReached{1, Phase::kHello}).fail(1, Code::kUser, "raised");
  d.feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 0, 1});
  EXPECT_TRUE(d.find<action::KillGroup>()) << "nothing more can be learned";
  d.die(1);
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "raised");
}

TEST(StateMachine, AStorageFailureIsTheErrorOfAStopThatTookTheRanks) {
  Driver d(2, 1);
  d.run().feed(event::StopRequested{StopKind::kTerminate, "SIGTERM"}).die(0).die(1);
  d.feed(event::StorageFailed{Error(Code::kEnvironment, "disk full")});
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kErrored);
  EXPECT_EQ(d.find<action::EndRun>()->error->cause.message(), "disk full");
}

TEST(StateMachine, AStorageFailureWhileARetryIsDueEndsTheRunWithAnError) {
  const Event full = event::StorageFailed{Error(Code::kEnvironment, "disk full")};
  Driver failed(1, 1);
  failed.run().lose_attempt().feed(full);
  EXPECT_EQ(failed.find<action::EndRun>()->error->cause.code(), Code::kWorkerLost)
      << "a failure that came first stays the run's error";

  Driver shrunk(ScalingPolicy::elastic(1, 4, 60), {.max_preemption_failures = 1});
  shrunk.feed(event::Started{}).resize(4).feed(event::ResourcesSeen{1, 2});
  shrunk.feed(event::GracePassed{1}).all_gone().feed(event::AttemptEnded{false}).feed(full);
  EXPECT_EQ(shrunk.find<action::EndRun>()->error->cause.message(), "disk full");
}

TEST(StateMachine, AStopWhileTheRowOfAResizeIsClosedAsksNobody) {
  for (const bool row_is_closed : {false, true}) {
    Driver d(ScalingPolicy::elastic(1, 4, 60), {});
    d.feed(event::Started{}).resize(2).feed(event::ResourcesSeen{1, 4}).feed(event::StopSeen{});
    d.feed(event::Returned{0}).feed(event::Returned{1}).all_gone();
    ASSERT_TRUE(d.find<action::EndAttempt>());
    if (row_is_closed) d.feed(event::AttemptEnded{true});
    d.feed(event::StopRequested{StopKind::kOperator, "`rtrain stop`"});
    EXPECT_FALSE(d.find<action::AskToStop>()) << "its processes are gone";
    EXPECT_FALSE(d.find<action::KillGroup>());
    if (!row_is_closed) d.feed(event::StopNow{StopKind::kOperator}).feed(event::AttemptEnded{true});
    ASSERT_TRUE(d.find<action::EndRun>());
    EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kAborted);
  }
}

TEST(StateMachine, ATerminationWhileTheRanksOfAResizeLeaveWaitsForTheirEnd) {
  Driver d(ScalingPolicy::elastic(1, 4, 60), {});
  d.feed(event::Started{}).resize(2).feed(event::ResourcesSeen{1, 4}).feed(event::StopSeen{});
  d.feed(event::Returned{0}).feed(event::Returned{1});
  d.feed(event::StopRequested{StopKind::kTerminate, "SIGTERM"});
  EXPECT_EQ(d.state(), RunState::kShuttingDown);
  EXPECT_FALSE(d.has_acted());
  d.die(0);
  EXPECT_FALSE(d.find<action::ReportDeath>()) << "it was asked to leave";
  d.die(1).feed(event::AttemptEnded{true});
  EXPECT_EQ(d.find<action::EndRun>()->error->kind, FailureKind::kPreemption);
}

// A hang verdict waits for stacks: what it finds may come when all processes are gone.
TEST(StateMachine, EventsOfRanksWhoseAttemptIsOverChangeNothing) {
  Driver d(2, -1);
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
}  // namespace rtrain
