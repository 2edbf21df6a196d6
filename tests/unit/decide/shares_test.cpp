#include "host/decide/slow/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

namespace rtrain::decide {
namespace {

using Numbers = std::vector<int>;

TEST(Shares, ASlowProcessGetsFewerVirtualRanks) {
  EXPECT_EQ(even_shares(8, 3), (Numbers{2, 3, 3}));
  EXPECT_EQ(better_shares({4, 4}, {0.04, 0.12}), (Numbers{6, 2}));
  EXPECT_EQ(better_shares({6, 2}, {0.06, 0.02}), (Numbers{4, 4})) << "it is as fast as the other";
  EXPECT_EQ(better_shares({1, 1}, {0.01, 0.1}), std::nullopt) << "each has at least one";
}

TEST(Shares, WhereAStepWouldHardlyBecomeShorterTheyStay) {
  EXPECT_EQ(better_shares({4, 4}, {0.04, 0.042}), std::nullopt);
  EXPECT_EQ(better_shares({4, 4}, {0.004, 0.0055}), std::nullopt);
  EXPECT_EQ(better_shares({2, 3, 3}, {0.02, 0.03, 0.03}), std::nullopt);
  EXPECT_EQ(better_shares({4, 4}, {0, 0.1}), std::nullopt) << "nothing is known of one";
}

// The shortest of all divisions.
double shortest(int left, size_t rank, const std::vector<double>& each_s) {
  if (rank + 1 == each_s.size()) return left * each_s[rank];
  double out = 1e9;
  const int others = static_cast<int>(each_s.size() - rank) - 1;
  for (int own = 1; own <= left - others; ++own) {
    out = std::min(out, std::max(own * each_s[rank], shortest(left - own, rank + 1, each_s)));
  }
  return out;
}

TEST(Shares, NoOtherDivisionIsFaster) {
  std::mt19937 random(1);
  int num_better = 0;
  for (int round = 0; round < 300; ++round) {
    const int size = 2 + static_cast<int>(random() % 3);
    const Numbers shares = even_shares(size + static_cast<int>(random() % 8), size);
    const int sum = std::accumulate(shares.begin(), shares.end(), 0);
    std::vector<double> each_s, work_s;
    for (const int share : shares) {
      each_s.push_back(0.01 * static_cast<double>(1 + random() % 9));
      work_s.push_back(share * each_s.back());
    }
    const double least_s = shortest(sum, 0, each_s);
    const double before_s = *std::ranges::max_element(work_s);
    const auto found = better_shares(shares, work_s);
    EXPECT_EQ(found.has_value(), before_s >= 1.15 * least_s - 1e-9) << round;
    if (!found) continue;
    ++num_better;
    EXPECT_EQ(std::accumulate(found->begin(), found->end(), 0), sum);
    double after_s = 0;
    for (size_t i = 0; i < each_s.size(); ++i) {
      EXPECT_GE((*found)[i], 1);
      after_s = std::max(after_s, (*found)[i] * each_s[i]);
    }
    EXPECT_NEAR(after_s, least_s, 1e-9) << round;
  }
  EXPECT_GT(num_better, 100);
}

TEST(Shares, AChangeHoldsFromTheNextAttemptOn) {
  Shares shares(8, 2);
  EXPECT_TRUE(shares.uneven().empty());
  EXPECT_FALSE(shares.is_unbalanced({0.04, 0.04}));
  ASSERT_TRUE(shares.is_unbalanced({0.04, 0.12}));
  EXPECT_EQ(shares.change(), "4, 4 → 6, 2");
  EXPECT_FALSE(shares.is_unbalanced({0.04, 0.12})) << "they were asked to";
  EXPECT_TRUE(shares.uneven().empty());
  shares.cancel();
  EXPECT_TRUE(shares.is_unbalanced({0.04, 0.12}));
  shares.change();
  Shares next(8, 2);
  next.go_on_from(shares);
  EXPECT_EQ(next.uneven(), (Numbers{6, 2}));
  Shares larger(8, 3);
  larger.go_on_from(shares);
  EXPECT_TRUE(larger.uneven().empty());
  EXPECT_FALSE(Shares(0, 2).is_unbalanced({0.04, 0.12})) << "a run without virtual ranks";
}

}  // namespace
}  // namespace rtrain::decide
