#include "host/base/phase_clock.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

uint64_t ticks_now = 0;

struct TestTime {
  static uint64_t ticks() { return ticks_now; }
  static double seconds() { return static_cast<double>(ticks_now) / 10; }
};

using Clock = BasicPhaseClock<TestTime>;

double seconds_of(Clock& clock, TrainPhase phase) {
  return clock.seconds().at(static_cast<size_t>(phase));
}

void pass(double seconds) { ticks_now += static_cast<uint64_t>(seconds * 10); }

void spend(Clock& clock, TrainPhase phase, double seconds) {
  const int depth = clock.enter(phase);
  pass(seconds);
  clock.leave(depth);
}

TEST(PhaseClock, ATrainingLoopIsSplit) {
  Clock clock;
  pass(5);  // the model is made
  for (int step = 0; step < 3; ++step) {
    spend(clock, TrainPhase::kData, 1);
    pass(2);  // forward
    spend(clock, TrainPhase::kCommunication, 0.5);
    pass(1);  // forward
    spend(clock, TrainPhase::kBackward, 4);
    pass(0.1);
    spend(clock, TrainPhase::kOptimizer, 0.7);
  }
  spend(clock, TrainPhase::kCheckpoint, 2);
  pass(1);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kData), 3);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kForward), 9);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kCommunication), 1.5);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kBackward), 12);
  EXPECT_NEAR(seconds_of(clock, TrainPhase::kOptimizer), 2.1, 1e-9);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kCheckpoint), 2);
  EXPECT_NEAR(seconds_of(clock, TrainPhase::kOther), 6.3, 1e-9);
  EXPECT_EQ(clock.steps(), 3);
}

TEST(PhaseClock, WhatNoBackwardFollowsIsNoForward) {
  Clock clock;
  for (int batch = 0; batch < 3; ++batch) {
    spend(clock, TrainPhase::kData, 1);
    pass(2);
  }
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kForward), 0);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kOther), 6);
}

TEST(PhaseClock, TheEndOfABackwardIsTheWaitForItsLastCollective) {
  Clock clock;
  const int backward = clock.enter(TrainPhase::kBackward);
  pass(2);
  spend(clock, TrainPhase::kCommunication, 1);
  clock.mark_collective();
  pass(2);  // more gradients
  spend(clock, TrainPhase::kCommunication, 1);
  clock.mark_collective();
  pass(3);  // until the collectives are over
  clock.leave(backward);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kBackward), 4);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kCommunication), 5);
  spend(clock, TrainPhase::kBackward, 1);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kBackward), 5) << "the next one has none";
}

TEST(PhaseClock, AnotherProcessReadsTheCountsWithThePresentPhase) {
  PhaseCounts counts;
  EXPECT_EQ(read_phases(counts, 5, 0.5), (std::array<double, kNumPhases>{})) << "it has not begun";
  ticks_now = 100;
  Clock clock(&counts);
  const auto read = [&](TrainPhase phase) {
    return read_phases(counts, ticks_now, TestTime::seconds()).at(static_cast<size_t>(phase));
  };
  spend(clock, TrainPhase::kData, 1);
  clock.enter(TrainPhase::kOptimizer);
  pass(2);
  EXPECT_DOUBLE_EQ(read(TrainPhase::kData), 1);
  EXPECT_DOUBLE_EQ(read(TrainPhase::kOptimizer), 2);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kOptimizer), 2);
  clock.leave(0);
  EXPECT_EQ(counts.steps, 1U);
  clock.start();
  EXPECT_DOUBLE_EQ(read(TrainPhase::kData), 0);
  EXPECT_EQ(counts.steps, 0U);
}

TEST(PhaseClock, WhatAnErrorHasLeftOpenIsClosed) {
  Clock clock;
  clock.enter_again(TrainPhase::kOptimizer);  // raises
  const int again = clock.enter_again(TrainPhase::kOptimizer);
  pass(1);
  clock.leave(again);
  pass(2);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kOther), 2);
  clock.enter_again(TrainPhase::kCheckpoint);  // raises
  spend(clock, TrainPhase::kBackward, 1);
  pass(2);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kOther), 4);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kCheckpoint), 0);
}

TEST(PhaseClock, CheckpointsMayBeNestedAndAnythingDeeply) {
  Clock clock;
  const int outer = clock.enter_again(TrainPhase::kCheckpoint);
  const int inner = clock.enter_again(TrainPhase::kCheckpoint);
  clock.leave(inner);
  pass(1);
  clock.leave(outer);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kCheckpoint), 1);
  const int first = clock.enter(TrainPhase::kData);
  for (int i = 0; i < 100; ++i) clock.enter(TrainPhase::kCommunication);
  pass(1);
  clock.leave(first);
  pass(1);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kCommunication), 1);
  EXPECT_DOUBLE_EQ(seconds_of(clock, TrainPhase::kOther), 1);
}

}  // namespace
}  // namespace rtrain
