// Which rank has which place on which node, also in groups that shrink.
#include "host/train/group/node_group.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "host/train/group/moved_ranks.h"
#include "tests/unit/fake_node_delegate.h"

namespace rtrain::train {
namespace {

// Records what happens to its ranks.
class FakeNode : public node::Node {
 public:
  explicit FakeNode(std::vector<std::string>& log) : log_(log) {}

  void spawn() override {}
  void send(int, std::string_view) override {}
  void set_attached(int, int) override {}
  void drain() override {}
  void hold_output(bool) override {}
  void kill() override {}
  void close() override { log_.emplace_back("closed"); }
  void hand_over(node::NodeDelegate&) override { log_.emplace_back("handed over"); }
  void leave_out(int rank) override { log_.push_back(cat("without ", rank)); }
  decide::RankFacts facts(int) const override { return {}; }
  uint64_t copied_bytes() const override { return 1; }
  double clock_offset_s() const override { return 0; }

 private:
  std::vector<std::string>& log_;
};

// Three nodes of two ranks each.
class NodeGroupTest : public testing::Test {
 protected:
  NodeGroupTest() {
    for (int i = 0; i < 3; ++i) {
      group_.add({.node = std::make_unique<FakeNode>(log_),
                  .name = cat("n", i),
                  .number = i,
                  .node_rank = i,
                  .first_rank = 2 * i,
                  .num_workers = 2});
    }
  }

  std::vector<std::string> log_;
  NodeGroup group_;
};

TEST_F(NodeGroupTest, PlacesAreRanksAtFirst) {
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(group_.place(rank), rank);
    EXPECT_EQ(group_.rank_at(rank), rank);
  }
  EXPECT_EQ(group_.rank_at(6), std::nullopt);
}

TEST_F(NodeGroupTest, ASmallerGroupIsDenseByNodeAgain) {
  group_.keep({0, 3, 4, 5});
  EXPECT_EQ(log_, (std::vector<std::string>{"without 1", "without 2"}));
  ASSERT_EQ(group_.members().size(), 3U);
  EXPECT_EQ(group_.of(1).name, "n1");
  EXPECT_EQ(group_.of(1).num_workers, 1);
  EXPECT_EQ(group_.of(3).first_rank, 2);
  EXPECT_EQ(group_.place(1), 3);
  EXPECT_EQ(group_.place(3), 5);
  EXPECT_EQ(group_.rank_at(3), 1);
  EXPECT_EQ(group_.rank_at(2), std::nullopt);
  log_.clear();
  group_.keep({1, 2});  // formerly ranks 3 and 4
  EXPECT_EQ(group_.place(0), 3);
  EXPECT_EQ(group_.place(1), 4);
  EXPECT_EQ(group_.of(1).node_rank, 1);
  EXPECT_EQ(log_, (std::vector<std::string>{"without 0", "closed", "without 5"}));
}

TEST_F(NodeGroupTest, ANodeWithoutRanksHearsOfTheNextAttempt) {
  group_.keep({0, 1, 4, 5});
  ASSERT_EQ(group_.members().size(), 2U);
  EXPECT_EQ(group_.of(2).name, "n2");
  EXPECT_EQ(group_.of(2).number, 2);
  EXPECT_EQ(group_.of(2).node_rank, 1);
  EXPECT_EQ(group_.copied_bytes(), 2U);
  log_.clear();
  FakeNodeDelegate next;
  group_.hand_over(next);
  EXPECT_EQ(log_, std::vector<std::string>(3, "handed over"));
}

TEST_F(NodeGroupTest, RanksThatComeToANodeWithOthersAreAMemberOfTheirOwn) {
  using Pairs = std::vector<std::pair<int, int>>;
  const auto pairs = [](const std::vector<decide::NodeWorkers>& nodes) {
    Pairs out;
    for (const decide::NodeWorkers& each : nodes) out.emplace_back(each.node, each.workers);
    return out;
  };
  EXPECT_EQ(pairs(nodes_of(group_, {4, 5})), (Pairs{{2, 2}}));
  EXPECT_EQ(pairs(nodes_without(group_, {4, 5})), (Pairs{{0, 2}, {1, 2}}));
  move_ranks(group_, {4, 5}, {1}, {}, [&](int node, const node::NodeOrder& order) {
    EXPECT_EQ(order.first_rank, 4);
    EXPECT_EQ(order.num_workers, 2);
    EXPECT_EQ(order.first_local_rank, 2);
    return NodeGroup::Member{
        .node = std::make_unique<FakeNode>(log_), .name = "n1", .number = node};
  });
  EXPECT_EQ(group_.of(5).name, "n1");
  EXPECT_EQ(group_.of(5).first_rank, 4);
  EXPECT_EQ(group_.rank_on(1), 2);
  EXPECT_TRUE(group_.is_shared(group_.of(2)) && group_.is_shared(group_.of(4)));
  EXPECT_FALSE(group_.is_shared(group_.of(0)));
}

TEST_F(NodeGroupTest, RanksOfTwoLostNodesMayComeToOne) {
  std::vector<int> first_local_ranks;
  move_ranks(group_, {2, 3, 4, 5}, {0, 0}, {}, [&](int node, const node::NodeOrder& order) {
    first_local_ranks.push_back(order.first_local_rank);
    return NodeGroup::Member{
        .node = std::make_unique<FakeNode>(log_), .name = "n0", .number = node};
  });
  EXPECT_EQ(first_local_ranks, (std::vector<int>{2, 4}));
  EXPECT_EQ(group_.members().size(), 3U) << "each is a member of its own";
  EXPECT_EQ(group_.place(5), 5);
}

}  // namespace
}  // namespace rtrain::train
