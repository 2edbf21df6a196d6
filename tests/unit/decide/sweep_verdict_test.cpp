#include "host/decide/checkpoints/sweep_verdict.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

constexpr FoundManifest kOwn{.is_of_run = true, .attempt = 2};
constexpr FoundManifest kOther{.is_of_run = false, .attempt = 2};

TEST(SweepVerdict, WhatARowNamesIsKnownOrMovedAway) {
  EXPECT_EQ(judge_folder(kOwn, {.kept_attempt = 2}), SweepVerdict::kKnown);
  EXPECT_EQ(judge_folder(std::nullopt, {.kept_attempt = 2}), SweepVerdict::kDamaged);
  EXPECT_EQ(judge_folder(kOther, {.kept_attempt = 2}), SweepVerdict::kDamaged);
}

// The later checkpoint has replaced the one that the row names.
TEST(SweepVerdict, ACheckpointOfALaterAttemptIsAdopted) {
  EXPECT_EQ(judge_folder(kOwn, {.kept_attempt = 1}), SweepVerdict::kUnrecorded);
  EXPECT_EQ(judge_folder(kOwn, {}), SweepVerdict::kUnrecorded);
}

TEST(SweepVerdict, WhatNobodyNeedsIsDeleted) {
  EXPECT_EQ(judge_folder(kOwn, {.was_dropped = true}), SweepVerdict::kDropped);
  EXPECT_EQ(judge_folder(kOwn, {.was_left_behind = true}), SweepVerdict::kLeftBehind);
}

// A checkpoint of another run can have the attempt number of a dropped checkpoint of this run.
TEST(SweepVerdict, WhatIsNotOfThisRunStays) {
  EXPECT_EQ(judge_folder(kOther, {.was_dropped = true, .was_left_behind = true}),
            SweepVerdict::kForeign);
  EXPECT_EQ(judge_folder(std::nullopt, {}), SweepVerdict::kUnknown);
}

}  // namespace
}  // namespace rtrain::decide
