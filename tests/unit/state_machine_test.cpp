#include "host/train/state_machine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rtrain {
namespace {

// A run that is driven by events; the actions of the last event are at hand.
class Driver {
 public:
  explicit Driver(int workers, int max_failures = 0)
      : machine_({workers, 60}, FailurePolicy(max_failures, 1)) {}

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
    return begin_attempt();
  }
  Driver& begin_attempt() { return feed(event::AttemptBegun{}); }
  Driver& all_reach(Phase phase) {
    for (int rank = 0; rank < machine_.options.num_workers; ++rank)
      feed(event::PhaseReached{rank, phase});
    return *this;
  }
  Driver& run() { return start_group().all_reach(Phase::kHello).all_reach(Phase::kRunning); }
  Driver& fail(int rank, Code code, const char* text, double time_s = 1) {
    return feed(event::Failed{rank, Error(code, text), time_s});
  }
  Driver& die(int rank, int signal = 9) {
    return feed(event::Gone{rank, Error(Code::kWorkerLost, "rank died"), signal != 0, 2});
  }
  Driver& all_gone() {
    for (int rank = 0; rank < machine_.options.num_workers; ++rank) {
      if (!machine_.ranks[static_cast<size_t>(rank)].gone) die(rank);
    }
    return *this;
  }

  RunState state() const { return machine_.state; }
  int attempt() const { return machine_.attempt; }

 private:
  Machine machine_;
  std::vector<Action> actions_;
};

TEST(StateMachine, SpawnsOnlyAfterTheAttemptIsOnDisk) {
  Driver d(2);
  d.feed(event::Started{});
  EXPECT_EQ(d.state(), RunState::kScheduling);
  EXPECT_TRUE(d.find<action::BeginAttempt>());
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
  d.die(0, 0).die(1, 0);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
  d.feed(event::AttemptEnded{false});
  ASSERT_TRUE(d.find<action::EndRun>());
  d.feed(event::RunEnded{});
  ASSERT_TRUE(d.find<action::Finish>());
  EXPECT_FALSE(d.find<action::Finish>()->error);
  EXPECT_EQ(d.state(), RunState::kFinished);
}

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

TEST(StateMachine, ARetryIsANewAttempt) {
  Driver d(2, 1);
  d.run().die(1).feed(event::VerdictDue{1}).all_gone().feed(event::AttemptEnded{true});
  ASSERT_TRUE(d.find<action::ReportFailure>());
  EXPECT_TRUE(d.find<action::ReportFailure>()->decision.retry);
  EXPECT_EQ(d.state(), RunState::kRestarting);
  d.feed(event::RetryDue{1});
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
  d.run().die(0).feed(event::AttemptEnded{false}).feed(event::RetryDue{1}).begin_attempt();
  d.feed(event::VerdictDue{1}).feed(event::DeadlinePassed{1}).feed(event::RetryDue{1});
  EXPECT_EQ(d.state(), RunState::kScheduling);
  EXPECT_FALSE(d.find<action::KillGroup>());
}

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
  d.start_group().feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 1});
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::EndAttempt>());
  d.die(0);
  ASSERT_TRUE(d.find<action::EndAttempt>());
  EXPECT_EQ(d.find<action::EndAttempt>()->error->cause.message(), "no memory");
}

TEST(StateMachine, StopKillsTheGroupAndAborts) {
  Driver d(2, -1);
  d.run().feed(event::StopRequested{Code::kInterrupted});
  EXPECT_TRUE(d.find<action::KillGroup>());
  d.all_gone();
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kAborted);
  d.feed(event::AttemptEnded{false}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kAborted);
  EXPECT_EQ(d.find<action::Finish>()->error->cause.code(), Code::kInterrupted);
}

TEST(StateMachine, StopEndsTheRunInEveryState) {
  const Event stop = event::StopRequested{Code::kTerminated};
  Driver scheduling(1);
  scheduling.feed(event::Started{}).feed(stop).begin_attempt();
  EXPECT_TRUE(scheduling.find<action::EndAttempt>());
  EXPECT_FALSE(scheduling.find<action::SpawnGroup>());

  Driver waiting(1, 1);
  waiting.run().die(0).feed(event::AttemptEnded{false}).feed(stop);
  EXPECT_TRUE(waiting.find<action::EndRun>());
  waiting.feed(event::RetryDue{1});
  EXPECT_FALSE(waiting.find<action::BeginAttempt>());

  Driver ending(1, 1);
  ending.run().die(0).feed(stop).feed(event::AttemptEnded{false});
  EXPECT_EQ(ending.find<action::EndRun>()->status, RunState::kAborted);
}

TEST(StateMachine, AStopAfterAllRanksReturnedComesTooLate) {
  Driver d(1);
  d.run().feed(event::Returned{0}).feed(event::StopRequested{Code::kInterrupted}).die(0, 0);
  EXPECT_EQ(d.find<action::EndAttempt>()->status, RunState::kFinished);
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

TEST(StateMachine, ALastWriteThatFailsIsTheRunsError) {
  Driver d(1);
  d.run().feed(event::Returned{0}).die(0, 0).feed(event::AttemptEnded{false});
  d.feed(event::StorageFailed{Error(Code::kEnvironment, "disk full")}).feed(event::RunEnded{});
  EXPECT_EQ(d.state(), RunState::kErrored);
}

}  // namespace
}  // namespace rtrain
