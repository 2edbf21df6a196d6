#include "host/engine/distributed/collectives.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "tests/engine/ranks.h"

namespace rtrain::engine {
namespace {

// The node of each rank: first with consecutive ranks on each node, then not.
class GroupOfNodes : public testing::TestWithParam<std::vector<int>> {
 protected:
  static void run(const std::function<void(const std::shared_ptr<Group>&)>& body) {
    const std::vector<int>& nodes = GetParam();
    const auto size = static_cast<int>(nodes.size());
    fork_ranks(size, [&](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
      static const api::HostApi api;
      GroupOptions options = rank_options(rank, size);
      options.address = cat("127.0.0.", nodes[static_cast<size_t>(rank)]);
      const auto group = std::make_shared<Group>(options, store, api);
      EXPECT_TRUE(group->runs_in_call());
      body(group);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Group, GroupOfNodes,
                         testing::Values(std::vector{1, 1, 2, 2}, std::vector{1, 2, 1, 2},
                                         std::vector{1, 2, 2, 2, 3}));

// More than one chunk, and a partial one.
constexpr int64_t kLarge = 700001;

// One group per dtype, because ThreadSanitizer follows at most 64 locks of a thread and does not
// see that Gloo, which it has not instrumented, releases its locks.
TEST_P(GroupOfNodes, AllReduceOfEveryDtype) {
  for (const auto dtype : {c10::kFloat, c10::kDouble, c10::kHalf, c10::kBFloat16, c10::kLong}) {
    run([dtype](const std::shared_ptr<Group>& group) {
      const int size = group->world_size();
      for (const int64_t count : {int64_t{1}, int64_t{1000}, kLarge}) {
        const at::Tensor each = at::arange(count, at::kDouble).remainder(7) + 1;
        const at::Tensor sum = (each * (group->rank() + 1)).to(dtype);
        const at::Tensor mean = sum.clone();
        const at::Tensor most = sum.clone();
        all_reduce(group, sum, "sum");
        all_reduce(group, mean, "avg");
        all_reduce(group, most, "max");
        const double factor = size * (size + 1) / 2.0;
        EXPECT_TRUE(at::equal(sum, (each * factor).to(dtype))) << dtype << " " << count;
        EXPECT_TRUE(at::equal(mean, at::floor_divide(sum, size)) || c10::isFloatingType(dtype));
        if (c10::isFloatingType(dtype)) {
          EXPECT_TRUE(at::equal(mean, sum / size)) << dtype << " " << count;
        }
        EXPECT_TRUE(at::equal(most, (each * size).to(dtype))) << dtype << " " << count;
      }
    });
  }
}

TEST_P(GroupOfNodes, AllReduceRoundsToTheSameBitsOnAllRanks) {
  run([](const std::shared_ptr<Group>& group) {
    const int size = group->world_size();
    const at::Tensor values =
        at::arange(kLarge, at::kFloat).mul(0.1).sin().add(0.3 * group->rank());
    const at::Tensor exact = at::full({kLarge}, 0.0, at::kDouble);
    for (int rank = 0; rank < size; ++rank) {
      exact.add_(at::arange(kLarge, at::kFloat).mul(0.1).sin().add(0.3 * rank).to(at::kDouble));
    }
    all_reduce(group, values, "sum");
    EXPECT_TRUE(at::allclose(values.to(at::kDouble), exact, 1e-6, 1e-6));
    const at::Tensor first = values.clone();
    broadcast(group, first, 0);
    EXPECT_TRUE(at::equal(first, values));
  });
}

TEST_P(GroupOfNodes, BroadcastFromEveryRankAndAllGather) {
  run([](const std::shared_ptr<Group>& group) {
    const double mine = group->rank();
    for (int root = 0; root < group->world_size(); ++root) {
      const at::Tensor tensor = at::arange(kLarge, at::kFloat).add(mine);
      broadcast(group, tensor, root);
      EXPECT_TRUE(at::equal(tensor, at::arange(kLarge, at::kFloat).add(root)));
    }
    const GroupWorkPtr gathered = all_gather(group, {}, filled(mine));
    const at::Tensor flat = at::full({3 * group->world_size()}, -1.0);
    all_gather_into_tensor(group, flat, filled(mine));
    for (int rank = 0; rank < group->world_size(); ++rank) {
      EXPECT_TRUE(at::equal(gathered->results()[static_cast<size_t>(rank)], filled(rank)));
      EXPECT_TRUE(at::equal(flat.narrow(0, 3 * rank, 3), filled(rank)));
    }
  });
}

TEST_P(GroupOfNodes, WhatNobodyWaitsForAndWhatGoesOverGlooAlone) {
  run([](const std::shared_ptr<Group>& group) {
    const int size = group->world_size();
    const at::Tensor large = at::full({kLarge}, 1.0);
    const GroupWorkPtr work = all_reduce(group, large, "sum", true);
    const at::Tensor small = filled(1);
    all_reduce(group, small, "sum");
    reduce(group, small, size - 1, "sum");
    barrier(group);
    work->wait();
    EXPECT_TRUE(at::equal(large, at::full({kLarge}, 1.0 * size)));
    if (group->rank() == size - 1) {
      EXPECT_TRUE(at::equal(small, filled(size * size)));
    }
  });
}

TEST_P(GroupOfNodes, AGroupInsideANodeSharesMemoryAlone) {
  run([](const std::shared_ptr<Group>& group) {
    for (const int host : {1, 2, 3}) {
      NewGroupOptions wanted{
          .ranks = {}, .timeout = std::chrono::seconds(20), .backend = "cpu:shm,cuda:nccl"};
      for (int rank = 0; rank < group->world_size(); ++rank) {
        if (GetParam()[static_cast<size_t>(rank)] == host) wanted.ranks.push_back(rank);
      }
      if (wanted.ranks.empty()) continue;
      const auto inside = group->new_group(wanted);
      if (inside == nullptr) continue;
      EXPECT_EQ(inside->uses_shm(), wanted.ranks.size() > 1);
      const at::Tensor tensor = filled(group->rank());
      all_reduce(inside, tensor, "max");
      EXPECT_TRUE(at::equal(tensor, filled(wanted.ranks.back())));
    }
  });
}

TEST_P(GroupOfNodes, ARankThatHasEndedFreesTheOthers) {
  run([](const std::shared_ptr<Group>& group) {
    barrier(group);
    if (group->rank() == group->world_size() - 1) _exit(0);
    try {
      all_reduce(group, at::full({kLarge}, 1.0), "sum");
      FAIL() << "the last rank is gone";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kPeerLost) << error.message();
    }
  });
}

TEST(GroupOfSeveralNodes, SharesNoMemory) {
  fork_ranks(2, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    const api::HostApi api;
    GroupOptions options = rank_options(rank, 2);
    options.address = rank == 0 ? "127.0.0.1" : "127.0.0.2";
    const auto group = std::make_shared<Group>(options, store, api);
    EXPECT_STREQ(group->backend_name(), "gloo");
    barrier(group);
    options.backend = "shm";
    options.prefix = "second";
    EXPECT_THROW(Group(options, store, api), Error);
  });
}

}  // namespace
}  // namespace rtrain::engine
