#include "host/base/sum_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

namespace rtrain {
namespace {

using Numbers = std::vector<float>;

// The definition, from the root down.
float whole_sum(const Numbers& leaves, int level, size_t number) {
  const size_t begin = number << level;
  if (begin >= leaves.size()) return 0;
  if (level == 0) return leaves[begin];
  const float left = whole_sum(leaves, level - 1, 2 * number);
  const size_t middle = begin + (size_t{1} << (level - 1));
  if (middle >= leaves.size()) return left;
  return left + whole_sum(leaves, level - 1, 2 * number + 1);
}

float whole_sum(const Numbers& leaves) {
  return whole_sum(leaves, static_cast<int>(std::bit_width(leaves.size() - 1)), 0);
}

// What the ranges make, one after the other, and then all together.
float sum_of_ranges(const Numbers& leaves, const std::vector<int>& bounds) {
  const int num_leaves = static_cast<int>(leaves.size());
  std::vector<SumNode> pieces;
  Numbers values;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    SumTree tree(num_leaves);
    Numbers own;
    for (int leaf = bounds[i]; leaf < bounds[i + 1]; ++leaf) {
      own.push_back(leaves[static_cast<size_t>(leaf)]);
      tree.push({0, leaf}, [&](size_t to) {
        EXPECT_EQ(to + 2, own.size());
        own[to] += own[to + 1];
        own.pop_back();
      });
    }
    EXPECT_EQ(tree.nodes(), SumTree::pieces(num_leaves, bounds[i], bounds[i + 1]));
    EXPECT_EQ(tree.nodes().size(), own.size());
    pieces.insert(pieces.end(), tree.nodes().begin(), tree.nodes().end());
    values.insert(values.end(), own.begin(), own.end());
  }
  for (const auto& [to, from] : SumTree::additions(num_leaves, pieces)) values[to] += values[from];
  return values[0];
}

TEST(SumTree, EveryPartitionIntoRangesHasTheBitsOfTheDefinition) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 20000; ++trial) {
    const int num_leaves = 1 + static_cast<int>(random() % 40);
    Numbers leaves;
    for (int i = 0; i < num_leaves; ++i) leaves.push_back(normal(random));
    std::vector<int> bounds{0, num_leaves};
    for (int cuts = static_cast<int>(random() % 9); cuts > 0; --cuts) {
      bounds.push_back(static_cast<int>(random() % static_cast<unsigned>(num_leaves + 1)));
    }
    std::sort(bounds.begin(), bounds.end());
    ASSERT_EQ(sum_of_ranges(leaves, bounds), whole_sum(leaves)) << "trial " << trial;
  }
}

TEST(SumTree, ARangeHasFewPieces) {
  for (int num_leaves = 1; num_leaves <= 64; ++num_leaves) {
    const size_t most = 2 * static_cast<size_t>(std::bit_width(static_cast<unsigned>(num_leaves)));
    for (int begin = 0; begin < num_leaves; ++begin) {
      for (int end = begin + 1; end <= num_leaves; ++end) {
        EXPECT_LE(SumTree::pieces(num_leaves, begin, end).size(), most);
      }
    }
    EXPECT_EQ(SumTree::pieces(num_leaves, 0, num_leaves).size(), 1U);
  }
}

TEST(SumTree, PartsHaveAllLeavesAndDifferByOne) {
  for (int num_leaves = 1; num_leaves <= 20; ++num_leaves) {
    for (int num_parts = 1; num_parts <= num_leaves; ++num_parts) {
      int next = 0;
      for (int number = 0; number < num_parts; ++number) {
        const LeafRange range = LeafRange::of(num_leaves, number, num_parts);
        EXPECT_EQ(range.begin, next);
        const int size = range.end - range.begin;
        EXPECT_TRUE(size == num_leaves / num_parts || size == num_leaves / num_parts + 1);
        next = range.end;
      }
      EXPECT_EQ(next, num_leaves);
    }
  }
}

}  // namespace
}  // namespace rtrain
