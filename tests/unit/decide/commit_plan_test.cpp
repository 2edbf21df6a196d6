#include "host/decide/checkpoints/commit_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace rtrain::decide {
namespace {

TEST(CommitPlan, AFolderIsWholeOnTheDiskBeforeItHasItsNameAndNamedBeforeItsRow) {
  std::vector<CommitStep> steps{CommitStep::kMerge};
  while (const auto next = next_step(steps.back())) steps.push_back(*next);
  EXPECT_EQ(steps,
            (std::vector{CommitStep::kMerge, CommitStep::kWriteManifest, CommitStep::kSyncTree,
                         CommitStep::kRename, CommitStep::kSyncParents, CommitStep::kClearStaging,
                         CommitStep::kWriteRow, CommitStep::kAnswer, CommitStep::kDrop}));
}

TEST(CommitPlan, AnotherNameIsWrittenIntoTheManifestFirst) {
  EXPECT_EQ(next_step(CommitStep::kRename, false), CommitStep::kWriteManifest);
}

TEST(CommitPlan, WhatHasTheNameDecides) {
  EXPECT_EQ(choose_name(std::nullopt, 2), NameChoice::kRename);
  EXPECT_EQ(choose_name(NamedFolder{.has_manifest = true, .attempt = 2}, 2), NameChoice::kRefuse);
  EXPECT_EQ(choose_name(NamedFolder{.has_manifest = true, .attempt = 1}, 2), NameChoice::kExchange);
  EXPECT_EQ(choose_name(NamedFolder{.has_manifest = true, .attempt = 1, .is_held = true}, 2),
            NameChoice::kOther);
  EXPECT_EQ(choose_name(NamedFolder{}, 2), NameChoice::kSetAside);
}

}  // namespace
}  // namespace rtrain::decide
