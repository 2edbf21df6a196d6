#include "host/decide/slow/slow_link.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

using Links = std::vector<LinkFacts>;

LinkFacts link(const char* own, const char* peer, uint64_t waits, uint64_t bytes = 1000) {
  return {.own = own, .peer = peer, .bytes = bytes, .looks = 100, .waits = waits};
}

TEST(SlowLink, ANodeCountsByBothDirectionsOfItsConnections) {
  const std::vector<Links> ring{
      {link("a", "b", 2)}, {link("b", "c", 80)}, {link("c", "d", 90)}, {link("d", "a", 4)}};
  const auto slow = link_use(ring, 2);
  ASSERT_TRUE(slow);
  EXPECT_DOUBLE_EQ(slow->own, 0.8);
  EXPECT_DOUBLE_EQ(slow->others, 0.02);
  EXPECT_TRUE(is_slow(*slow));
  for (const size_t other : {size_t{0}, size_t{1}, size_t{3}}) {
    EXPECT_FALSE(is_slow(*link_use(ring, other))) << other;
  }
}

TEST(SlowLink, ConnectionsThatAreIdleDoNotCount) {
  const std::vector<Links> all{{link("a", "b", 1), link("a", "c", 100, 20)},
                               {link("b", "c", 70), link("b", "a", 0, 20)},
                               {link("c", "a", 70), link("c", "b", 0, 20)}};
  EXPECT_TRUE(is_slow(*link_use(all, 2)));
  EXPECT_FALSE(is_slow(*link_use(all, 0)));
}

TEST(SlowLink, WhereEachSendsToEachTheNeighboursOfASlowLinkAreNotSlow) {
  const std::vector<Links> all{{link("a", "b", 0), link("a", "c", 90)},
                               {link("b", "a", 0), link("b", "c", 90)},
                               {link("c", "a", 90), link("c", "b", 90)}};
  EXPECT_TRUE(is_slow(*link_use(all, 2)));
  EXPECT_FALSE(is_slow(*link_use(all, 0)));
  EXPECT_FALSE(is_slow(*link_use(all, 1)));
}

TEST(SlowLink, LinksThatAllUseAlikeAreNotSlow) {
  const std::vector<Links> ring{{link("a", "b", 60)}, {link("b", "c", 75)}, {link("c", "a", 70)}};
  for (size_t rank = 0; rank < 3; ++rank) EXPECT_FALSE(is_slow(*link_use(ring, rank)));
}

TEST(SlowLink, OfTwoNodesAndOfANodesFurtherRanksNothingIsSaid) {
  EXPECT_FALSE(link_use({{link("a", "b", 90)}, {link("b", "a", 1)}}, 0));
  const std::vector<Links> all{
      {link("a", "b", 1)}, {}, {link("b", "c", 90)}, {link("b", "c", 90)}, {link("c", "a", 1)}};
  EXPECT_FALSE(link_use(all, 1)) << "it sends nothing";
  EXPECT_FALSE(link_use(all, 3)) << "rank 2 stands for the node";
  EXPECT_TRUE(link_use(all, 2));
}

}  // namespace
}  // namespace rtrain::decide
