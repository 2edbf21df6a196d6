// How the state machine of a run is stopped and resized.
#include "host/decide/run/state_machine.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/decide/run_driver.h"

namespace rtrain::decide {
namespace {

TEST(RunStop, AStopAsksARunningGroupAndKillsItAfterTheGracePeriod) {
  RunDriver d(2, -1);
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
TEST(RunStop, AbortClosesTheAttemptAndEndsInAborted) {
  RunDriver d(2, -1);
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

TEST(RunStop, ACheckpointAfterTheRequestEndsTheGroup) {
  RunDriver d(2);
  d.run().feed(event::StopComplete{1});
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.feed(event::StopRequested{StopKind::kInterrupt}).feed(event::CheckpointCommitted{1});
  EXPECT_FALSE(d.find<action::KillGroup>()) << "the train function may be about to return";
  d.feed(event::StopComplete{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone().feed(event::AttemptEnded{true}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
}

TEST(RunStop, ATerminatedRunThatSavedIsPreempted) {
  RunDriver d(2);
  d.run().feed(event::StopRequested{StopKind::kTerminate});
  EXPECT_EQ(d.state(), RunState::kPreempting);
  d.feed(event::StopSeen{}).feed(event::CheckpointCommitted{1});
  d.feed(event::StopComplete{1}).all_gone();
  d.feed(event::AttemptEnded{true}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kPreempted);
  EXPECT_EQ(exit_code(d.find<action::Finish>()->error->cause.code()), 75);
  EXPECT_EQ(d.find<action::Finish>()->error->kind, FailureKind::kPreemption);
}

TEST(RunStop, ATerminatedRunThatDidNotSaveIsAborted) {
  RunDriver d(2);
  d.run().feed(event::StopRequested{StopKind::kTerminate}).feed(event::GracePassed{1}).all_gone();
  d.feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
  EXPECT_EQ(exit_code(d.find<action::Finish>()->error->cause.code()), 143);
}

// behaviour: a clean return during a stop
TEST(RunStop, ACleanReturnDuringAStopFinishesTheRun) {
  const std::vector<Event> stops = {event::StopRequested{StopKind::kTerminate},
                                    event::StopRequested{StopKind::kInterrupt},
                                    event::ResourcesSeen{1, 1}};
  for (const Event& stop : stops) {
    RunDriver d(ScalingPolicy::elastic(1, 2, 60), {});
    d.run().feed(stop);
    ASSERT_TRUE(d.find<action::AskToStop>());
    d.feed(event::Returned{0}).feed(event::Returned{1}).die(0).die(1);
    EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
    d.feed(event::AttemptEnded{false}).feed(event::RunEnded{});
    EXPECT_EQ(d.state(), RunState::kFinished);
  }
}

TEST(RunStop, ARunThatReturnsBecauseItWasToldToStopIsStopped) {
  RunDriver d(1);
  d.run().feed(event::StopRequested{StopKind::kInterrupt}).feed(event::StopSeen{});
  d.feed(event::Returned{0}).die(0).feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
}

TEST(RunStop, APredicateFinishesTheRun) {
  RunDriver d(1);
  d.run().feed(event::StopRequested{StopKind::kPredicate}).feed(event::GracePassed{1}).all_gone();
  d.feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kFinished);
  EXPECT_FALSE(d.find<action::Finish>()->error);
}

TEST(RunStop, AStrongerStopTakesOver) {
  RunDriver d(ScalingPolicy::elastic(1, 2, 60), {});
  d.feed(event::Started{}).resize(1).feed(event::ResourcesSeen{1, 2});
  d.feed(event::StopSeen{}).feed(event::Returned{0});
  d.feed(event::StopRequested{StopKind::kInterrupt}).die(0).feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>()) << "the run does not go on in another size";
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kAborted);

  RunDriver two(1);
  two.run().feed(event::StopRequested{StopKind::kTerminate});
  two.feed(event::StopRequested{StopKind::kInterrupt}).feed(event::GracePassed{1}).all_gone();
  EXPECT_EQ(two.find<action::EndAttempt>()->error->cause.code(), Code::kTerminated) << "the first";
}

// behaviour: a user's error during a stop
TEST(RunStop, AUserErrorDuringAStopIsAWorkerFailure) {
  RunDriver d(1);
  d.run().feed(event::StopRequested{StopKind::kTerminate}).fail(0, Code::kUser, "boom").die(0);
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->error->cause.message(), "boom");
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kErrored);
  EXPECT_EQ(d.find<action::EndRun>()->error->kind, FailureKind::kWorkerGroup);

  RunDriver retryable(1, 5);
  retryable.run().feed(event::StopRequested{StopKind::kTerminate}).fail(0, Code::kUser, "boom");
  retryable.die(0).feed(event::AttemptEnded{false});
  ASSERT_TRUE(retryable.find<action::TellFailure>());
  EXPECT_FALSE(retryable.find<action::TellFailure>()->decision.retry) << "not on this machine";
  EXPECT_EQ(retryable.find<action::EndRun>()->status, RunState::kAborted);
}

TEST(RunStop, ARankThatIsLostDuringAStopWentWithWhatStopsIt) {
  RunDriver d(2);
  d.run().feed(event::StopRequested{StopKind::kTerminate}).feed(event::CheckpointCommitted{1});
  d.die(1).all_gone().feed(event::AttemptEnded{true}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kPreempted);

  RunDriver resized(ScalingPolicy::elastic(1, 4, 60), {});
  resized.feed(event::Started{}).resize(2).feed(event::ResourcesSeen{1, 4});
  resized.die(0).all_gone().feed(event::AttemptEnded{false});
  EXPECT_TRUE(resized.find<action::EndRun>()) << "a request of the run itself kills nobody";
}

// behaviour: budget of preemptions
TEST(RunStop, APreemptionBudgetThatIsUsedUpIsNoInvitationToRunAgain) {
  RunDriver d(ScalingPolicy::fixed(1), {.max_preemption_failures = 0});
  d.run().feed(event::StopRequested{StopKind::kTerminate}).feed(event::CheckpointCommitted{1});
  d.feed(event::StopComplete{1}).all_gone().feed(event::AttemptEnded{true}).feed(event::RunEnded{});
  const auto& error = *d.find<action::Finish>()->error;
  EXPECT_EQ(error.kind, FailureKind::kPreemption);
  EXPECT_EQ(error_kind_name(error.kind), "PreemptionError");
  EXPECT_NE(exit_code(error.cause.code()), 75);
  EXPECT_NE(error.cause.message().find("max_preemption_failures = 0"), std::string::npos);
}

TEST(RunStop, StopEndsTheRunInEveryState) {
  const Event stop = event::StopRequested{StopKind::kTerminate};
  RunDriver queued(1);
  queued.feed(event::Started{}).feed(stop);
  EXPECT_TRUE(queued.find<action::EndRun>());
  queued.grant(1);
  EXPECT_FALSE(queued.find<action::BeginAttempt>());

  RunDriver scheduling(1);
  scheduling.feed(event::Started{}).grant(1).feed(stop).begin_attempt();
  EXPECT_TRUE(scheduling.find<action::EndAttempt>());
  EXPECT_FALSE(scheduling.find<action::SpawnGroup>());

  RunDriver starting(1);
  starting.start_group().feed(stop);
  EXPECT_TRUE(starting.find<action::KillGroup>()) << "nothing to save yet";

  RunDriver waiting(1, 1);
  waiting.run().die(0).feed(event::AttemptEnded{false}).feed(stop);
  EXPECT_TRUE(waiting.find<action::EndRun>());
  waiting.feed(event::RetryDue{1});
  EXPECT_FALSE(waiting.find<action::RequestResources>());

  RunDriver ending(1, 1);
  ending.run().die(0).feed(stop).feed(event::AttemptEnded{false});
  EXPECT_EQ(ending.find<action::EndRun>()->status, RunState::kAborted);
}

TEST(RunStop, AStopAfterAllRanksReturnedComesTooLate) {
  RunDriver d(1);
  d.run().feed(event::Returned{0}).feed(event::StopRequested{StopKind::kInterrupt}).die(0);
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
}

// behaviour: resize of a running group
TEST(RunStop, AResizeGoesThroughResizingAndSchedulingWithTheNewSize) {
  RunDriver d(ScalingPolicy::elastic(1, 4, 60), {});
  d.feed(event::Started{}).resize(2);
  ASSERT_EQ(d.state(), RunState::kRunning);
  d.feed(event::ResourcesSeen{1, 2});
  EXPECT_TRUE(d.find<action::SetResizeTimer>());
  EXPECT_FALSE(d.find<action::AskToStop>());
  d.feed(event::ResourcesSeen{1, 4});
  ASSERT_TRUE(d.find<action::AskToStop>());
  EXPECT_EQ(d.find<action::AskToStop>()->kind, StopKind::kResize);
  EXPECT_EQ(d.find<action::TellResize>()->to, 4);
  d.feed(event::CheckpointCommitted{1}).feed(event::StopComplete{1}).all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
  d.feed(event::AttemptEnded{true});
  EXPECT_EQ(d.state(), RunState::kResizing);
  EXPECT_FALSE(d.find<action::TellFailure>()) << "no failure, charged to nothing";
  d.grant(4);
  EXPECT_EQ(d.state(), RunState::kScheduling);
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 4);
  d.begin_attempt();
  EXPECT_EQ(d.find<action::SpawnGroup>()->num_workers, 4);
  EXPECT_EQ(d.attempt(), 2);
}

TEST(RunStop, AGroupThatOnlyGrowsWaitsForItsCheckpoint) {
  RunDriver d(ScalingPolicy::elastic(1, 4, 60), {});
  d.feed(event::Started{}).resize(2).feed(event::ResourcesSeen{1, 3}).feed(event::GracePassed{1});
  EXPECT_FALSE(d.find<action::KillGroup>());
}

// behaviour: the grace period passes
TEST(RunStop, AShrinkThatCannotSaveIsAPreemptionAndNoWorkerFailure) {
  RunDriver d(ScalingPolicy::elastic(1, 4, 60), {.max_failures = 0, .max_preemption_failures = 1});
  d.feed(event::Started{}).resize(4).feed(event::ResourcesSeen{1, 2}).feed(event::GracePassed{1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone().feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::TellFailure>());
  EXPECT_EQ(d.find<action::TellFailure>()->error.kind, FailureKind::kPreemption);
  EXPECT_TRUE(d.find<action::TellFailure>()->decision.retry);
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.retry(2);
  EXPECT_EQ(d.state(), RunState::kRunning);
}

TEST(RunStop, AStorageFailureIsTheErrorOfAStopThatTookTheRanks) {
  RunDriver d(2, 1);
  d.run().feed(event::StopRequested{StopKind::kTerminate, "SIGTERM"}).die(0).die(1);
  d.feed(event::StorageFailed{Error(Code::kEnvironment, "disk full")});
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  EXPECT_EQ(d.find<action::EndRun>()->status, RunState::kErrored);
  EXPECT_EQ(d.find<action::EndRun>()->error->cause.message(), "disk full");
}

TEST(RunStop, AStopWhileTheRowOfAResizeIsClosedAsksNobody) {
  for (const bool row_is_closed : {false, true}) {
    RunDriver d(ScalingPolicy::elastic(1, 4, 60), {});
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

TEST(RunStop, ATerminationWhileTheRanksOfAResizeLeaveWaitsForTheirEnd) {
  RunDriver d(ScalingPolicy::elastic(1, 4, 60), {});
  d.feed(event::Started{}).resize(2).feed(event::ResourcesSeen{1, 4}).feed(event::StopSeen{});
  d.feed(event::Returned{0}).feed(event::Returned{1});
  d.feed(event::StopRequested{StopKind::kTerminate, "SIGTERM"});
  EXPECT_EQ(d.state(), RunState::kShuttingDown);
  EXPECT_FALSE(d.has_acted());
  d.die(0);
  EXPECT_FALSE(d.find<action::TellDeath>()) << "it was asked to leave";
  d.die(1).feed(event::AttemptEnded{true});
  EXPECT_EQ(d.find<action::EndRun>()->error->kind, FailureKind::kPreemption);
}

// The stop comes before the run's row is written; Started then requests no resources.
TEST(RunStop, AStopBeforeTheRunsRowIsWrittenAsksForNoResources) {
  RunDriver d(1);
  d.feed(event::StopRequested{StopKind::kInterrupt, "Ctrl-C"});
  ASSERT_TRUE(d.find<action::EndRun>());
  d.feed(event::Started{});
  EXPECT_FALSE(d.has_acted());
}

}  // namespace
}  // namespace rtrain::decide
