#include "host/decide/checkpoints/commit_agreement.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

TEST(CommitAgreement, AStepIsThatOfTheNodeThatIsBehind) {
  CommitAgreement agreement;
  EXPECT_FALSE(agreement.on_node_ready(0, 1, 3));
  EXPECT_FALSE(agreement.on_node_ready(2, 2, 3));
  EXPECT_EQ(agreement.on_node_ready(1, 1, 3), 1);
  EXPECT_FALSE(agreement.on_node_ready(1, 2, 3));
  EXPECT_EQ(agreement.on_node_ready(0, 2, 3), 2);
}

TEST(CommitAgreement, EachStepIsToldOnce) {
  CommitAgreement agreement;
  EXPECT_FALSE(agreement.on_node_ready(0, 1, 2));
  EXPECT_EQ(agreement.on_node_ready(1, 1, 2), 1);
  EXPECT_FALSE(agreement.on_node_ready(1, 1, 2));
}

// Node 0 reports step 2 and then, late, step 1 of its slower rank.
TEST(CommitAgreement, ANodeDoesNotGoBack) {
  CommitAgreement agreement;
  agreement.on_node_ready(0, 1, 2);
  agreement.on_node_ready(1, 1, 2);
  EXPECT_FALSE(agreement.on_node_ready(0, 2, 2));
  EXPECT_FALSE(agreement.on_node_ready(0, 1, 2));
  EXPECT_EQ(agreement.on_node_ready(1, 2, 2), 2);
}

}  // namespace
}  // namespace rtrain::decide
