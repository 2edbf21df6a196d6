#include "host/decide/failure_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rtrain::decide {
namespace {

Failure lost() { return {Error(Code::kWorkerLost, "rank 1 was killed by signal 9 (SIGKILL)")}; }
Failure user(const char* text) {
  return {Error(Code::kUser, text, "train.lua:3: in function 'f'")};
}

TEST(FailurePolicy, GivesUpWhenTheRetriesAreUsedUp) {
  FailurePolicy policy({.max_failures = 2}, 1);
  EXPECT_TRUE(policy.decide(lost()).retry);
  EXPECT_TRUE(policy.decide(lost()).retry);
  const FailureDecision last = policy.decide(lost());
  EXPECT_FALSE(last.retry);
  EXPECT_EQ(last.reason, "all 2 retries are used up (max_failures = 2)");
}

TEST(FailurePolicy, StartsThatFailEndTheRunUnlessItIsToldOtherwise) {
  FailurePolicy policy({}, 1);
  const Failure start{Error(Code::kWorkerLost, "died"), false, FailureKind::kController};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(policy.decide(start).retry);
  EXPECT_EQ(policy.decide(start).reason,
            "all 3 retries are used up (controller_failure_limit = 3)");
}

TEST(FailurePolicy, AFullDiskMayBeMadeRoomOn) {
  FailurePolicy policy({.max_failures = 1}, 1);
  const auto failure = [](const char* text) { return Failure{Error(Code::kEnvironment, text)}; };
  EXPECT_TRUE(policy.decide(failure("cannot write /s/x: No space left on device")).retry);
  EXPECT_FALSE(policy.decide(failure("cannot write /s/x: No space left on device")).retry);
  FailurePolicy other({.max_failures = 1}, 1);
  EXPECT_FALSE(other.decide(failure("cannot write /s/x: Read-only file system")).retry);
}

// behaviour: `max_failures` 0, 1, 10, -1
TEST(FailurePolicy, MaxFailuresIsHonoured) {
  for (const int limit : {0, 1, 10}) {
    FailurePolicy policy({.max_failures = limit}, 1);
    for (int i = 0; i < limit; ++i) ASSERT_TRUE(policy.decide(lost()).retry);
    EXPECT_FALSE(policy.decide(lost()).retry);
  }
  FailurePolicy without_limit({.max_failures = -1}, 1);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(without_limit.decide(lost()).retry);
}

// behaviour: separate budgets
TEST(FailurePolicy, EachKindOfFailureHasABudgetOfItsOwn) {
  FailurePolicy policy(
      {.max_failures = 1, .controller_failure_limit = 1, .max_preemption_failures = 1}, 1);
  Failure start{Error(Code::kTimeout, "late"), false, FailureKind::kController};
  Failure preempted{Error(Code::kPreempted, "gone"), false, FailureKind::kPreemption};
  for (const Failure& failure : {lost(), start, preempted})
    EXPECT_TRUE(policy.decide(failure).retry);
  EXPECT_EQ(policy.counts().worker_group, 1);
  EXPECT_EQ(policy.counts().controller, 1);
  EXPECT_EQ(policy.counts().preemption, 1);
  for (const Failure& failure : {lost(), start, preempted})
    EXPECT_FALSE(policy.decide(failure).retry);
}

TEST(FailurePolicy, StartsThatFailForEverComeSlowerAndAreCounted) {
  FailurePolicy policy({.controller_failure_limit = -1}, 1);
  const Failure start{Error(Code::kWorkerLost, "died"), false, FailureKind::kController};
  EXPECT_EQ(policy.decide(start).delay_s, 0);
  double longest = 0;
  for (int i = 2; i <= 1000; ++i) {
    const FailureDecision next = policy.decide(start);
    ASSERT_TRUE(next.retry);
    EXPECT_GE(next.delay_s, i < 8 ? longest * 0.75 : 45);
    EXPECT_LE(next.delay_s, 60);
    longest = std::max(longest, next.delay_s);
    if (i == 7) {
      EXPECT_EQ(next.reason, "retry 7 of any number (controller_failure_limit = -1)");
    }
  }
  EXPECT_GT(longest, 45);
}

TEST(FailurePolicy, CountsBeginAnewAfterALongTimeWithoutAFailure) {
  FailurePolicy policy({.max_failures = 2, .reset_after_s = 600}, 1);
  const auto after = [&](double ran_s) {
    Failure failure = lost();
    failure.ran_s = ran_s;
    return policy.decide(failure);
  };
  EXPECT_TRUE(after(1).retry);
  EXPECT_GT(after(599).delay_s, 0);
  const FailureDecision forgiven = after(600);
  EXPECT_TRUE(forgiven.retry);
  EXPECT_EQ(forgiven.delay_s, 0);
  EXPECT_EQ(forgiven.reason, "retry 1 of 2");
  EXPECT_EQ(policy.counts().worker_group, 1);
  EXPECT_TRUE(after(1).retry);
  EXPECT_FALSE(after(1).retry);
  FailurePolicy without({.max_failures = 1}, 1);
  Failure late = lost();
  late.ran_s = 1e9;
  EXPECT_TRUE(without.decide(late).retry);
  EXPECT_FALSE(without.decide(late).retry) << "counts are never reset unless that is asked for";
}

TEST(FailurePolicy, WhatEarlierControllersSpentIsSpent) {
  FailurePolicy policy({.max_failures = 3}, 1, {.worker_group = 3});
  EXPECT_FALSE(policy.decide(lost()).retry);
}

// fault: crash loop
TEST(FailurePolicy, ACrashLoopEndsAfterABoundedTime) {
  FailurePolicy policy({.max_failures = 5}, 1);
  double waited = 0;
  int attempts = 1;
  for (FailureDecision next = policy.decide(lost()); next.retry; next = policy.decide(lost())) {
    waited += next.delay_s;
    ++attempts;
  }
  EXPECT_EQ(attempts, 6);
  EXPECT_LE(waited, 0 + 1 + 2 + 4 + 8);
}

TEST(FailurePolicy, FirstRetryIsImmediateAndLaterOnesWaitLonger) {
  FailurePolicy policy({.max_failures = -1}, 7);
  EXPECT_EQ(policy.decide(lost()).delay_s, 0);
  for (double full = 1; full <= 32; full *= 2) {
    const double delay = policy.decide(lost()).delay_s;
    EXPECT_LE(delay, full);
    EXPECT_GE(delay, full * 0.75);
  }
  for (int i = 0; i < 100; ++i) EXPECT_LE(policy.decide(lost()).delay_s, 60);
}

TEST(FailurePolicy, ProgressMakesTheNextRetryImmediate) {
  FailurePolicy policy({.max_failures = -1}, 7);
  policy.decide(lost());
  EXPECT_GT(policy.decide(lost()).delay_s, 0);
  Failure after_progress = lost();
  after_progress.new_checkpoint = true;
  EXPECT_EQ(policy.decide(after_progress).delay_s, 0);
}

TEST(FailurePolicy, TheSameUserErrorTwiceEndsTheRun) {
  FailurePolicy policy({.max_failures = -1}, 1);
  EXPECT_TRUE(policy.decide(user("train.lua:3: boom")).retry);
  EXPECT_FALSE(policy.decide(user("train.lua:3: boom")).retry);
}

// The traceback contains tensor shapes, which may differ between two attempts.
// fault: CUDA out of memory
TEST(FailurePolicy, TheSameErrorWithTensorsOfOtherSizesEndsTheRun) {
  const auto failed = [](const char* traceback) {
    return Failure{Error(Code::kArgument, "a.lua:3: mm: boom", traceback)};
  };
  FailurePolicy policy({.max_failures = -1}, 1);
  EXPECT_TRUE(policy.decide(failed("  with x float32 [8, 3]\n  a.lua:3: in 'f'")).retry);
  EXPECT_TRUE(policy.decide(failed("  with x float32 [8, 3]\n  a.lua:3: in 'g'")).retry);
  EXPECT_FALSE(policy.decide(failed("  with x float32 [5, 3]\n  a.lua:3: in 'g'")).retry);
}

TEST(FailurePolicy, WhatIsNotFiniteIsNotRetried) {
  FailurePolicy policy({.max_failures = -1}, 1);
  EXPECT_FALSE(policy.decide({Error(Code::kNotFinite, "the loss is nan in step 3")}).retry);
}

TEST(FailurePolicy, TheSameWantOfMemoryTwiceEndsTheRun) {
  const auto full = [](const char* text) { return Failure{Error(Code::kOutOfMemory, text)}; };
  FailurePolicy policy({.max_failures = -1}, 1);
  EXPECT_TRUE(policy.decide(full("a.lua:3: mm: out of memory on cuda:0; 3 MiB are free")).retry);
  EXPECT_TRUE(policy.decide(full("a.lua:9: mm: out of memory on cuda:0; 3 MiB are free")).retry);
  EXPECT_FALSE(policy.decide(full("a.lua:9: mm: out of memory on cuda:0; 4 MiB are free")).retry);
}

TEST(FailurePolicy, AnotherUserErrorOrProgressIsRetried) {
  FailurePolicy policy({.max_failures = -1}, 1);
  EXPECT_TRUE(policy.decide(user("train.lua:3: boom")).retry);
  EXPECT_TRUE(policy.decide(user("train.lua:4: bang")).retry);
  Failure again = user("train.lua:4: bang");
  again.new_checkpoint = true;
  EXPECT_TRUE(policy.decide(again).retry);
}

TEST(FailurePolicy, TheSameLostWorkerTwiceIsRetried) {
  FailurePolicy policy({.max_failures = 5}, 1);
  EXPECT_TRUE(policy.decide(lost()).retry);
  EXPECT_TRUE(policy.decide(lost()).retry);
}

TEST(FailurePolicy, EnvironmentAndConfigurationAreNeverRetried) {
  for (const Code code : {Code::kEnvironment, Code::kConfig, Code::kUnsupported}) {
    const FailureDecision decision =
        FailurePolicy({.max_failures = -1}, 1).decide({Error(code, "disk full")});
    EXPECT_FALSE(decision.retry);
    EXPECT_FALSE(decision.reason.empty());
  }
}

TEST(FailurePolicy, WhereNobodyAskedForRetriesNothingIsSaidOfThem) {
  const FailureDecision decision =
      FailurePolicy({.max_failures = 0}, 1).decide({Error(Code::kConfig, "no such field")});
  EXPECT_FALSE(decision.retry);
  EXPECT_EQ(decision.reason, "");
}

}  // namespace
}  // namespace rtrain::decide
