#include "host/decide/link_verdict.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

SeenLink slow(int node, int num_slow) {
  return {.peer = node, .num_slow = num_slow, .num_answers = 20, .silent_s = 0};
}
SeenLink silent(int node, double seconds) {
  return {.peer = node, .num_slow = 0, .num_answers = 20, .silent_s = seconds};
}

// Calls `say` twice a second until `until_s`. Returns the first finding.
template <class Say>
std::optional<LinkFinding> found_by(LinkVerdict& verdict, double until_s, Say say) {
  for (double now_s = 0; now_s <= until_s; now_s += 0.5) {
    say(now_s);
    if (auto found = verdict.decide(now_s)) return found;
  }
  return std::nullopt;
}

TEST(LinkVerdict, ANodeIsAtFaultWhoseLinksDropPackets) {
  LinkVerdict verdict;
  const auto found = found_by(verdict, 5, [&](double now_s) {
    verdict.add(0, slow(1, 1), now_s);
    verdict.add(1, slow(2, 6), now_s);
    verdict.add(0, slow(2, 4), now_s);
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, 2);
  EXPECT_EQ(found->peer, 1);
  EXPECT_EQ(found->text,
            "drops packets: for 6 of the last 20 answers over it some had to be sent again");
}

TEST(LinkVerdict, TheEndWithMoreBadLinksIsAtFaultBeItTheFirst) {
  LinkVerdict verdict;
  const auto found = found_by(verdict, 5, [&](double now_s) {
    verdict.add(1, slow(2, 6), now_s);
    verdict.add(1, slow(3, 6), now_s);
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, 1);
}

TEST(LinkVerdict, NodeZeroIsNeverAtFault) {
  LinkVerdict verdict;
  const auto found = found_by(verdict, 5, [&](double now_s) {
    verdict.add(0, slow(1, 9), now_s);
    verdict.add(0, slow(2, 9), now_s);
  });
  ASSERT_TRUE(found);
  EXPECT_NE(found->node, 0);
}

TEST(LinkVerdict, OfAsManyTheLaterIsAtFaultWhoeverSaysIt) {
  LinkVerdict verdict;
  const auto found = found_by(verdict, 5, [&](double now_s) { verdict.add(2, slow(1, 9), now_s); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, 2);
}

TEST(LinkVerdict, AFewPacketsThatWereSentAgainAreNothing) {
  LinkVerdict verdict;
  EXPECT_FALSE(found_by(verdict, 30, [&](double now_s) { verdict.add(0, slow(1, 4), now_s); }));
}

TEST(LinkVerdict, ASilentLinkIsBadWhenBothItsEndsGoOnSayingSo) {
  LinkVerdict verdict;
  const auto both = found_by(verdict, 10, [&](double now_s) {
    verdict.add(1, silent(2, 1 + now_s), now_s);
    verdict.add(2, silent(1, 1 + now_s), now_s);
  });
  ASSERT_TRUE(both);
  EXPECT_EQ(both->node, 2);
  EXPECT_NE(both->text.find("lets nothing through"), std::string::npos) << both->text;
}

// Found by tests/sim: a moment of silence was counted from one before it.
TEST(LinkVerdict, TwoMomentsOfSilenceAreNotOneSilence) {
  LinkVerdict verdict;
  const auto found = found_by(verdict, 11.5, [&](double now_s) {
    const bool is_first = now_s == 4.5;
    if (!is_first && now_s < 7.5) return;
    verdict.add(0, silent(1, is_first ? 1 : now_s - 6.5), now_s);
    verdict.add(1, silent(0, is_first ? 1 : now_s - 6.5), now_s);
  });
  EXPECT_FALSE(found) << found->text;
}

TEST(LinkVerdict, ANodeOfWhichNothingIsHeardIsNoMatterOfLinks) {
  LinkVerdict verdict;
  EXPECT_FALSE(found_by(verdict, 60, [&](double now_s) {
    verdict.add(0, silent(1, 1 + now_s), now_s);
    verdict.add(2, silent(1, 1 + now_s), now_s);
  }));
}

// Reports that a node could not send while the link was down arrive all at once.
TEST(LinkVerdict, ANodeThatComesBackIsNotAtFault) {
  LinkVerdict verdict;
  EXPECT_FALSE(found_by(verdict, 20, [&](double now_s) {
    if (now_s < 8) verdict.add(0, silent(1, 1 + now_s), now_s);
    if (now_s == 8) {
      for (double each_s = 0; each_s < 8; each_s += 0.5) verdict.add(1, silent(0, each_s), now_s);
    }
    if (now_s > 8) {
      verdict.add(0, slow(1, 1), now_s);
      verdict.add(1, slow(0, 1), now_s);
    }
  }));
}

TEST(LinkVerdict, WhatWasSaidOfALostNodeCountsNoMore) {
  LinkVerdict verdict;
  verdict.add(0, slow(1, 9), 1);
  EXPECT_FALSE(verdict.decide(1));
  verdict.drop(1);
  EXPECT_FALSE(verdict.decide(3));
}

using Links = std::set<std::pair<int, int>>;

// Returns the failed links in both directions.
Links links(std::initializer_list<std::pair<int, int>> failed) {
  Links out;
  for (const auto& [one, other] : failed) out.insert({{one, other}, {other, one}});
  return out;
}

std::vector<int> hosts_at_fault(const Links& failed, const std::set<int>& refusing = {}) {
  std::vector<int> out;
  for (const auto& [node, peer] : at_fault({failed, refusing})) out.push_back(node);
  return out;
}

TEST(LinksAtFault, TheNodeWithTheMostLinksThatFailed) {
  EXPECT_EQ(hosts_at_fault({}), std::vector<int>());
  EXPECT_EQ(hosts_at_fault(links({{0, 2}, {1, 2}, {2, 3}})), std::vector<int>{2});
  EXPECT_EQ(hosts_at_fault(links({{0, 1}, {1, 2}, {1, 3}, {3, 4}})), (std::vector<int>{1, 4}));
  EXPECT_EQ(at_fault({links({{1, 2}, {2, 3}})}).front(), std::make_pair(2, 1))
      << "one of its links";
}

TEST(LinksAtFault, NodeZeroOnlyWhenItHasMoreThanAnyOther) {
  EXPECT_EQ(hosts_at_fault(links({{0, 1}})), std::vector<int>{1});
  EXPECT_EQ(hosts_at_fault(links({{0, 1}, {0, 2}, {1, 2}})), (std::vector<int>{2, 1}));
  EXPECT_EQ(hosts_at_fault(links({{0, 1}, {0, 2}, {0, 3}})), std::vector<int>{0})
      << "and not all the others";
}

TEST(LinksAtFault, NodesThatRefuseConnectionsAreAtFaultAndNotTheOneThatTried) {
  EXPECT_EQ(hosts_at_fault(links({{1, 2}, {1, 3}}), {2, 3}), (std::vector<int>{2, 3}));
  EXPECT_EQ(hosts_at_fault(links({{1, 2}, {1, 3}}), {3}), (std::vector<int>{3, 2}));
  EXPECT_EQ(at_fault({links({{1, 2}}), {2}}), (std::vector{std::make_pair(2, 1)}));
}

}  // namespace
}  // namespace rtrain::decide
