#include "host/engine/distributed/shards.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "host/engine/tensor/shard_guard.h"
#include "tests/engine/ranks.h"

namespace rtrain::engine {
namespace {

constexpr int kRanks = 3;

class ShardsOver : public testing::TestWithParam<const char*> {
 protected:
  static void run(const std::function<void(const GroupPtr&)>& body) {
    fork_ranks(kRanks, [&](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
      static const api::HostApi api;
      GroupOptions options = rank_options(rank, kRanks);
      options.backend = GetParam();
      body(std::make_shared<Group>(options, store, api));
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Shards, ShardsOver, testing::Values("shm", "gloo"),
                         [](const auto& info) { return std::string(info.param); });

at::Tensor whole_of(int64_t rows, double factor) {
  return at::arange(rows * 4, at::kFloat).view({rows, 4}) * factor;
}

at::Tensor rows_of(const at::Tensor& whole, int rank) {
  const auto [begin, count] = shard_rows(whole.size(0), rank, kRanks);
  return whole.narrow(0, begin, count).contiguous();
}

TEST(Shards, RowsAreThoseOfChunk) {
  const auto rows = [](int64_t all, int rank, int ranks) {
    const ShardRows found = shard_rows(all, rank, ranks);
    return std::pair(found.begin, found.count);
  };
  EXPECT_EQ(rows(10, 0, 3), std::pair(0L, 4L));
  EXPECT_EQ(rows(10, 2, 3), std::pair(8L, 2L));
  EXPECT_EQ(rows(2, 2, 3), std::pair(2L, 0L));
  EXPECT_EQ(rows(4, 2, 3), std::pair(4L, 0L));
  EXPECT_EQ(rows(0, 1, 3), std::pair(0L, 0L));
}

// 100,000 rows are more than one step of shared memory; 2 rows leave a rank without any.
TEST_P(ShardsOver, AllGatherAndReduceScatterOfUnevenRows) {
  run([](const GroupPtr& group) {
    const int mine = group->rank();
    std::vector<at::Tensor> expected{whole_of(10, 1), whole_of(2, 3), whole_of(100'000, 1)};
    std::vector<at::Tensor> wholes, shards, grads, sums;
    for (const at::Tensor& each : expected) {
      wholes.push_back(at::full_like(each, -1));
      shards.push_back(rows_of(each, mine));
      grads.push_back(each * (mine + 1));
      sums.push_back(at::full_like(shards.back(), -1));
    }
    all_gather_shards(group, wholes, shards);
    reduce_scatter_shards(group, sums, grads, "sum");
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(at::equal(wholes[i], expected[i])) << i;
      EXPECT_TRUE(at::equal(sums[i], shards[i] * 6)) << i;
    }
    EXPECT_THROW(all_gather_shards(group, {wholes[0]}, {shards[1]}), Error);
    EXPECT_THROW(all_gather_shards(group, wholes, {shards[0]}), Error);
  });
}

TEST(Shards, WritesToASharedTensorAreSeenByAllRanks) {
  fork_ranks(kRanks, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    static const api::HostApi api;
    const auto group = std::make_shared<Group>(rank_options(rank, kRanks), store, api);
    const SharedTensors made =
        shared_tensors(group, {{.sizes = {10, 4}}, {.sizes = {2}, .dtype = at::kDouble}});
    EXPECT_EQ(made.wholes[0].count_nonzero().item<int64_t>(), 0);
    barrier(group);
    made.shards[0].copy_(rows_of(whole_of(10, 1), rank));
    made.shards[1].fill_(7);
    barrier(group);
    EXPECT_TRUE(at::equal(made.wholes[0], whole_of(10, 1)));
    EXPECT_TRUE(at::equal(made.wholes[1], at::full({2}, 7.0, at::kDouble)));
    barrier(group);
  });
}

// In a process of its own: the test program runs no operator.
void in_a_process(const std::function<void()>& body) {
  fork_ranks(1, [&](int, const c10::intrusive_ptr<c10d::Store>&) { body(); });
}

TEST(ShardGuard, AllowsWhatIsElementwise) {
  in_a_process([] {
    const c10::NoGradGuard no_grad;
    const at::Tensor shard = at::full({2, 3}, 1.0);
    mark_shard(shard, {.name = "weight", .begin = 2, .num_rows = 6, .number = 9});
    shard.add_(1);
    const at::Tensor twice = shard * 2;
    EXPECT_EQ(shard_number(twice), 9);
    EXPECT_EQ(shard_number(at::zeros_like(shard)), 9);
    EXPECT_EQ(shard_number(shard.detach()), 9);
    EXPECT_EQ(shard_number(unmarked(shard)), 0);
    EXPECT_TRUE(at::equal(unmarked(twice), at::full({2, 3}, 4.0)));
  });
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return std::string(e.message());
  }
  return "not refused";
}

TEST(ShardGuard, RefusesWhatIsOfTheRowsAlone) {
  in_a_process([] {
    const at::Tensor shard = at::full({2, 3}, 1.0);
    mark_shard(shard, {.name = "weight", .begin = 2, .num_rows = 6, .number = 9});
    EXPECT_NE(refusal([&] { shard.norm(); })
                  .find("'weight' is sharded (fully_shard): this rank has "
                        "the rows 2 to 3 of 6"),
              std::string::npos);
    EXPECT_NE(refusal([&] { at::matmul((shard * 2), shard.t()); }).find("of these rows alone"),
              std::string::npos);
    EXPECT_NE(refusal([&] { check_whole(shard, "save"); }).find("save: 'weight'"),
              std::string::npos);
    const ShardScope scope;
    EXPECT_NEAR(shard.norm().item<double>(), 2.449, 1e-3);
  });
}

}  // namespace
}  // namespace rtrain::engine
