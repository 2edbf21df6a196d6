#include "host/train/group/node_group.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

TEST(SpreadWorkers, EvenlyAndTheFirstNodesHaveOneMore) {
  EXPECT_EQ(spread_workers(4, 2), (std::vector<int>{2, 2}));
  EXPECT_EQ(spread_workers(5, 3), (std::vector<int>{2, 2, 1}));
  EXPECT_EQ(spread_workers(1, 2), (std::vector<int>{1, 0}));
  EXPECT_EQ(spread_workers(3, 1), (std::vector<int>{3}));
}

}  // namespace
}  // namespace rtrain
