// Who keeps the rows of which rank of a sharded model, and who has them after a loss.
#include "host/decide/row_keepers.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

using Ranks = std::vector<int>;

// Who has the rows of each rank: its number, or that of the rank that keeps a copy, from 100 on.
Ranks found(const std::vector<RowPlace>& places) {
  const auto holders = row_holders(places);
  if (!holders) return {-1};
  Ranks out;
  for (const RowHolder& each : *holders) out.push_back(each.rank + (each.is_kept ? 100 : 0));
  return out;
}

TEST(RowKeepers, RowsAreKeptOnAnotherNodeWhereThereIsOne) {
  EXPECT_EQ(row_keepers({0, 0, 1, 1}), (Ranks{2, 3, 0, 1}));
  EXPECT_EQ(row_keepers({0, 0, 1, 2}), (Ranks{2, 3, 0, 1})) << "two lost nodes lose no rows";
  EXPECT_EQ(row_keepers({0, 1, 2}), (Ranks{1, 2, 0}));
  EXPECT_EQ(row_keepers({0, 0, 0, 1}), (Ranks{3, 0, 1, 2})) << "most are on one";
}

TEST(RowKeepers, RanksThatHaveComeToOneNodeKeepNothingForEachOther) {
  EXPECT_EQ(row_keepers({0, 1, 2, 2}), (Ranks{2, 3, 0, 1}));
  EXPECT_EQ(row_keepers({0, 1, 0, 1}), (Ranks{1, 0, 3, 2}));
}

TEST(RowKeepers, OnOneNodeTheNextRankKeepsThem) {
  EXPECT_EQ(row_keepers({5, 5, 5}), (Ranks{1, 2, 0}));
  EXPECT_EQ(row_keepers({0}), Ranks{0});
}

TEST(RowKeepers, ALostRanksRowsComeFromTheOneThatKeepsThem) {
  EXPECT_EQ(found({{2, 0, 1}, {}}), (Ranks{0, 100}));
  EXPECT_EQ(found({{3, 2, 1}, {3, 0, 2}}), (Ranks{1, 100, 0})) << "a smaller group";
}

TEST(RowKeepers, WithoutTheOneThatKeepsThemTheyAreGone) {
  EXPECT_EQ(found({{3, 0, 2}, {}, {}}), Ranks{-1});
  EXPECT_EQ(found({{2, 0, -1}, {}}), Ranks{-1}) << "it has not got all of them yet";
  EXPECT_EQ(found({{3, 0, 2}, {2, 1, 0}}), Ranks{-1})
      << "some have them for a smaller group already";
}

TEST(RowKeepers, RanksThatAreLeftMayHaveToKeepOthers) {
  EXPECT_TRUE(keeps_rows({{2, 0, 1}, {}}, {1, 0}));
  EXPECT_FALSE(keeps_rows({{3, 0, 2}, {3, 1, 0}, {}}, {2, 0, 1}));
}

}  // namespace
}  // namespace rtrain::decide
