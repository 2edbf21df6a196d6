// The state machine of a run in train.elastic that goes on with fewer ranks where nobody can take a
// lost one's place.
#include <gtest/gtest.h>

#include "tests/unit/decide/heal_driver.h"

namespace rtrain::decide {
namespace {

TEST(HealSmaller, AnElasticGroupGoesOnWithoutALostNode) {
  HealDriver d(1, 4, "");
  d.lose_host_of(2);
  EXPECT_EQ(d.find<action::TellDeath>()->effect, DeathEffect::kLeftOut);
  EXPECT_EQ(d.find<action::Unwind>()->rank, 2);
  d.lose_host_of(1).unwind(0).unwind(3);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->error.rank, 1) << "the first of those lost at once";
  d.feed(event::AttemptEnded{false});
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 2);
  d.feed(event::AttemptBegun{});
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{0, 3}));
  EXPECT_EQ(d.find<action::HealGroup>()->lost, std::vector<int>{});
  EXPECT_EQ(d.state(), RunState::kRunning) << "nobody has to be started";
  d.hold(1);
  EXPECT_TRUE(d.find<action::TellHealed>());
  EXPECT_FALSE(d.feed(event::Returned{2}).find<action::SendExit>()) << "there is no such rank";
  d.feed(event::Returned{0}).feed(event::Returned{1});
  EXPECT_TRUE(d.find<action::SendExit>());
}

TEST(HealSmaller, RanksMayNoticeALostNodeLongBeforeItIsGivenUp) {
  HealDriver d(1, 3, "");
  d.unwind(0).unwind(1).feed(event::VerdictDue{1});
  ASSERT_TRUE(d.find<action::SetVerdictTimer>());
  EXPECT_EQ(d.find<action::SetVerdictTimer>()->seconds, 35);
  d.lose_host_of(2);
  EXPECT_TRUE(d.find<action::EndHealed>());
  HealDriver none(1, 3, "");
  none.unwind(0).unwind(1).feed(event::VerdictDue{1}).feed(event::VerdictDue{1});
  EXPECT_TRUE(none.find<action::KillGroup>()) << "no node was lost";
  HealDriver all(1, 2, "");
  all.unwind(0).unwind(1).feed(event::VerdictDue{1});
  EXPECT_TRUE(all.find<action::KillGroup>()) << "nobody is missing";
}

TEST(HealSmaller, ALostNodeAndALostRankOfAnotherOne) {
  HealDriver d(2, 4, "");
  d.lose_host_of(0).dying(2).gone(2).unwind(1).unwind(3).write_rows();
  ASSERT_TRUE(d.find<action::HealGroup>());
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{1, 2, 3}));
  EXPECT_EQ(d.find<action::HealGroup>()->lost, std::vector{1}) << "as it is numbered now";
  d.reach(1).hold(1);
  EXPECT_TRUE(d.find<action::TellHealed>());
}

TEST(HealSmaller, AGroupDoesNotBecomeSmallerThanItsLeast) {
  HealDriver d(3, 4, "");
  d.lose_host_of(3);
  EXPECT_TRUE(d.find<action::Unwind>());
  d.lose_host_of(2);
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_EQ(d.find<action::TellDeath>()->because,
            "its node is lost and fewer than 3 workers, the least of num_workers, are left");
  HealDriver restarts(1, 2, "the sweep knows them");
  restarts.lose_host_of(1);
  EXPECT_TRUE(restarts.find<action::KillGroup>());
  EXPECT_EQ(restarts.find<action::TellDeath>()->because,
            "its node is lost and a smaller group is not possible: the sweep knows them");
}

TEST(HealSmaller, ANodeThatIsLostBehindTheRowBeginsAgain) {
  HealDriver d(1, 3, "");
  d.lose_host_of(2).unwind(0).unwind(1).feed(event::AttemptEnded{false});
  EXPECT_EQ(d.find<action::BeginAttempt>()->num_workers, 2);
  d.lose_host_of(1).feed(event::AttemptBegun{});
  EXPECT_TRUE(d.find<action::KillGroup>());
  EXPECT_FALSE(d.find<action::HealGroup>());
  HealDriver before(1, 3, "");
  before.lose_host_of(2).unwind(0).unwind(1).lose_host_of(1).write_rows();
  EXPECT_EQ(before.find<action::HealGroup>()->kept, std::vector{0});
}

TEST(HealSmaller, ARankThatCannotBeStartedAgainIsLeftOut) {
  HealDriver d(1, 3, "");
  d.lose_first().write_rows();
  d.feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 0, 1});
  ASSERT_TRUE(d.find<action::TellLeftOut>());
  EXPECT_EQ(d.find<action::TellLeftOut>()->error.message(), "no memory");
  EXPECT_FALSE(d.find<action::KillGroup>());
  d.unwind(1).unwind(2);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->error.cause.message(), "no memory");
  d.write_rows();
  EXPECT_EQ(d.attempt(), 3);
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{1, 2}));
  HealDriver fixed(3, -1, 1);
  fixed.all_hold().lose_first().write_rows();
  fixed.feed(event::SpawnFailed{Error(Code::kEnvironment, "no memory"), 0, 1});
  EXPECT_TRUE(fixed.find<action::KillGroup>());
}

TEST(HealSmaller, ARankThatDoesNotStartInTimeIsLeftOut) {
  HealDriver d(1, 3, "");
  d.lose_first().write_rows();
  d.feed(event::PhaseReached{0, Phase::kHello}).feed(event::DeadlinePassed{2});
  ASSERT_TRUE(d.find<action::KillRank>());
  EXPECT_EQ(d.find<action::KillRank>()->rank, 0);
  EXPECT_EQ(d.find<action::TellLeftOut>()->error.code(), Code::kTimeout);
  d.unwind(1).unwind(2);
  EXPECT_FALSE(d.find<action::EndHealed>()) << "it is being ended";
  d.gone(0);
  ASSERT_TRUE(d.find<action::EndHealed>());
  EXPECT_EQ(d.find<action::EndHealed>()->error.cause.code(), Code::kTimeout);
  d.write_rows();
  EXPECT_EQ(d.find<action::HealGroup>()->kept, (std::vector{1, 2}));
}

TEST(HealSmaller, AnElasticGroupGoesOnWithoutARankThatKeepsDying) {
  HealDriver d(1, 2, "");
  int heals = 0;
  for (; heals < 100 && d.num_workers() == 2; ++heals) {
    d.dying(0).gone(0).unwind(1).write_rows();
    ASSERT_TRUE(d.find<action::HealGroup>());
    if (d.num_workers() == 2) d.reach(0);
  }
  EXPECT_GT(heals, 5);
  EXPECT_LT(heals, 100);
  EXPECT_EQ(d.find<action::HealGroup>()->kept, std::vector{1});
}

}  // namespace
}  // namespace rtrain::decide
