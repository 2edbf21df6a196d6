#include "host/decide/slow/straggler_policy.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

TEST(StragglerPolicy, OnlyAPlaceIsGivenUpAndOnlyOnRequest) {
  const Straggler cores{.cause = SlowCause::kCores};
  const Straggler data{.cause = SlowCause::kData};
  const Straggler passed{.cause = SlowCause::kCores, .has_passed = true};
  using Policy = StragglerPolicy;
  using Action = StragglerAction;
  EXPECT_EQ(straggler_action(Policy::kIgnore, cores, true), Action::kNone);
  EXPECT_EQ(straggler_action(Policy::kWarn, cores, true), Action::kTell);
  EXPECT_EQ(straggler_action(Policy::kEvict, cores, true), Action::kEvict);
  EXPECT_EQ(straggler_action(Policy::kEvict, cores, false), Action::kReplace);
  EXPECT_EQ(straggler_action(Policy::kEvict, data, true), Action::kTell) << "the script is slow";
  EXPECT_EQ(straggler_action(Policy::kEvict, passed, true), Action::kTell);
  EXPECT_EQ(straggler_action(Policy::kRebalance, cores, true), Action::kTell)
      << "its virtual ranks are moved: shares.h";
  const Straggler link{.cause = SlowCause::kLink};
  EXPECT_EQ(straggler_action(Policy::kEvict, link, true), Action::kEvict);
  EXPECT_EQ(straggler_action(Policy::kEvict, link, false), Action::kTell)
      << "another process of the node has the same link";
}

}  // namespace
}  // namespace rtrain::decide
