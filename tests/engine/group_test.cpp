#include "host/engine/distributed/group.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "tests/engine/ranks.h"

namespace rtrain {
namespace {

at::Tensor filled(double value) { return at::full({3}, value); }

// By the backend of CPU tensors.
class GroupOver : public testing::TestWithParam<const char*> {
 protected:
  static GroupOptions options(int rank, int world_size) {
    GroupOptions out = rank_options(rank, world_size);
    out.backend = GetParam();
    return out;
  }
  static void run(int world_size, const std::function<void(const std::shared_ptr<Group>&)>& body) {
    fork_ranks(world_size, [&](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
      static const HostApi api;
      body(std::make_shared<Group>(options(rank, world_size), store, api));
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Group, GroupOver, testing::Values("shm", "gloo"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(GroupOver, AllReduceCombinesEveryRanksValues) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const double mine = group->rank() + 2;
    for (const auto& [op, expected] : std::vector<std::pair<const char*, double>>{
             {"sum", 5}, {"avg", 2.5}, {"min", 2}, {"max", 3}, {"product", 6}}) {
      const at::Tensor tensor = filled(mine);
      group->all_reduce(tensor, op);
      EXPECT_TRUE(at::equal(tensor, filled(expected))) << op;
    }
  });
}

TEST_P(GroupOver, AllReduceOfAViewWritesThroughTheView) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const at::Tensor base = at::arange(6, at::kFloat).view({2, 3});
    group->all_reduce(base.t(), "sum");
    EXPECT_TRUE(at::equal(base, at::arange(6, at::kFloat).view({2, 3}) * 2));
  });
}

TEST_P(GroupOver, AllGatherGivesEveryRanksTensorInRankOrder) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const std::vector<at::Tensor> all = group->all_gather(filled(group->rank()));
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(at::equal(all[0], filled(0)));
    EXPECT_TRUE(at::equal(all[1], filled(1)));
  });
}

TEST_P(GroupOver, BroadcastAndReduceScatter) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const at::Tensor tensor = filled(group->rank());
    group->broadcast(tensor, 1);
    EXPECT_TRUE(at::equal(tensor, filled(1)));
    const at::Tensor output = filled(0);
    group->reduce_scatter(output, {filled(10), filled(group->rank())}, "sum");
    EXPECT_TRUE(at::equal(output, filled(group->rank() == 0 ? 20 : 1)));
    group->barrier();
  });
}

TEST_P(GroupOver, OneTensorForAllRanks) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const double mine = group->rank();
    const at::Tensor all = at::full({6}, -1.0);
    group->all_gather_into_tensor(all, filled(mine));
    EXPECT_TRUE(at::equal(all, at::cat({filled(0), filled(1)})));
    const at::Tensor output = filled(-1);
    group->reduce_scatter_tensor(output, at::arange(6, at::kFloat), "sum");
    EXPECT_TRUE(at::equal(output, 2 * (at::arange(3, at::kFloat) + 3 * mine)));
  });
}

TEST_P(GroupOver, ToAndFromOneRank) {
  run(3, [](const std::shared_ptr<Group>& group) {
    const bool is_last = group->rank() == 2;
    const at::Tensor sum = filled(group->rank() + 1);
    group->reduce(sum, 2, "sum");
    if (is_last) {
      EXPECT_TRUE(at::equal(sum, filled(6)));
    }
    const std::vector<at::Tensor> all = group->gather(filled(group->rank()), 2);
    ASSERT_EQ(all.size(), is_last ? 3U : 0U);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(at::equal(all[i], filled(static_cast<double>(i))));
    }
    const at::Tensor output = filled(-1);
    group->scatter(output, is_last ? all : std::vector<at::Tensor>(), 2);
    EXPECT_TRUE(at::equal(output, filled(group->rank())));
    EXPECT_THROW(group->reduce(sum, 3, "sum"), Error);
    EXPECT_THROW(group->gather(sum, -1), Error);
  });
}

TEST_P(GroupOver, AllToAllOfDifferentSizes) {
  run(3, [](const std::shared_ptr<Group>& group) {
    const int mine = group->rank();
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> outputs;
    for (int other = 0; other < 3; ++other) {
      inputs.push_back(at::full({mine + other + 1, 2}, 10.0 * mine + other));
      outputs.push_back(at::full({mine + other + 1, 2}, -1.0));
    }
    group->all_to_all(outputs, inputs);
    for (int other = 0; other < 3; ++other) {
      const at::Tensor& output = outputs[static_cast<size_t>(other)];
      EXPECT_TRUE(at::equal(output, at::full({mine + other + 1, 2}, 10.0 * other + mine)));
    }
    const at::Tensor received = at::full({3}, -1.0);
    group->all_to_all_single(received, at::arange(3, at::kFloat) + 10 * mine, {}, {});
    EXPECT_TRUE(at::equal(received, at::arange(3, at::kFloat) * 10 + mine));
    EXPECT_THROW(group->all_to_all(outputs, {inputs[0]}), Error);
  });
}

TEST_P(GroupOver, RefusesAnUnknownOperationAndRank) {
  run(1, [](const std::shared_ptr<Group>& group) {
    EXPECT_THROW(group->all_reduce(filled(1), "mean"), Error);
    EXPECT_THROW(group->broadcast(filled(1), 1), Error);
  });
}

TEST_P(GroupOver, ALostPeerIsNamedAsTheCauseAndEndsTheGroup) {
  run(2, [](const std::shared_ptr<Group>& group) {
    group->barrier();
    if (group->rank() == 1) _exit(0);
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        group->all_reduce(filled(1), "sum");
        FAIL() << "the other rank is gone";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kPeerLost);
        EXPECT_NE(error.message().find("all_reduce on rank 0 of 2"), std::string::npos)
            << error.message();
        const bool is_named = error.message().find("rank 1 has ended") != std::string::npos;
        EXPECT_EQ(is_named, group->uses_shm()) << error.message();
      }
    }
  });
}

TEST_P(GroupOver, ARankThatNeverComesIsATimeout) {
  fork_ranks(1, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    const HostApi api;
    GroupOptions options = GroupOver::options(rank, 2);
    options.timeout = std::chrono::milliseconds(100);
    try {
      const Group group(options, store, api);
      FAIL() << "there is no other rank";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kTimeout) << error.message();
    }
  });
}

TEST_P(GroupOver, ARankThatStopsCallingIsATimeout) {
  fork_ranks(2, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    const HostApi api;
    GroupOptions options = GroupOver::options(rank, 2);
    options.timeout = std::chrono::milliseconds(500);
    Group group(options, store, api);
    if (rank == 1) {
      store->wait({"rank 0 is done"}, std::chrono::seconds(20));
      return;
    }
    try {
      group.barrier();
      FAIL() << "rank 1 does not call barrier";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kTimeout) << error.message();
      EXPECT_NE(error.message().find("barrier on rank 0 of 2"), std::string::npos);
    }
    store->set("rank 0 is done", "1");
  });
}

TEST_P(GroupOver, SaysWhatCpuTensorsTravelOver) {
  run(2, [](const std::shared_ptr<Group>& group) {
    EXPECT_STREQ(group->backend_name(), GetParam());
    group->barrier();
  });
}

TEST(GroupOfSeveralHosts, SharesNoMemory) {
  fork_ranks(2, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    const HostApi api;
    GroupOptions options = rank_options(rank, 2);
    options.address = "127.0.0.1";
    Group group(options, store, api);
    EXPECT_STREQ(group.backend_name(), "gloo");
    group.barrier();
    options.backend = "shm";
    options.prefix = "second";
    EXPECT_THROW(Group(options, store, api), Error);
  });
}

TEST_P(GroupOver, UseAfterCloseIsAnError) {
  run(1, [](const std::shared_ptr<Group>& group) {
    group->close();
    group->close();
    EXPECT_THROW(group->barrier(), Error);
  });
}

}  // namespace
}  // namespace rtrain
