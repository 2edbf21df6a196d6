#include "host/engine/distributed/collectives.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "host/engine/distributed/gloo/gloo_connections.h"
#include "tests/engine/ranks.h"

namespace rtrain::engine {
namespace {

// Tests run with each backend of CPU tensors; "hosts": the last rank is on a separate node.
class GroupOver : public testing::TestWithParam<const char*> {
 protected:
  static bool has_hosts() { return std::string_view(GetParam()) == "hosts"; }
  static std::string backend() { return has_hosts() ? "cpu:shm,cuda:nccl" : GetParam(); }
  static GroupOptions options(int rank, int world_size) {
    GroupOptions out = rank_options(rank, world_size);
    out.backend = backend();
    if (has_hosts()) out.address = rank + 1 < world_size ? "127.0.0.1" : "127.0.0.2";
    return out;
  }
  static void run(int world_size, const std::function<void(const std::shared_ptr<Group>&)>& body) {
    fork_ranks(world_size, [&](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
      static const api::HostApi api;
      body(std::make_shared<Group>(options(rank, world_size), store, api));
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Group, GroupOver, testing::Values("shm", "gloo", "hosts"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(GroupOver, AllReduceCombinesEveryRanksValues) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const double mine = group->rank() + 2;
    for (const auto& [op, expected] : std::vector<std::pair<const char*, double>>{
             {"sum", 5}, {"avg", 2.5}, {"min", 2}, {"max", 3}, {"product", 6}}) {
      const at::Tensor tensor = filled(mine);
      all_reduce(group, tensor, op);
      EXPECT_TRUE(at::equal(tensor, filled(expected))) << op;
    }
  });
}

TEST_P(GroupOver, AllReduceOfAViewWritesThroughTheView) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const at::Tensor base = at::arange(6, at::kFloat).view({2, 3});
    all_reduce(group, base.t(), "sum");
    EXPECT_TRUE(at::equal(base, at::arange(6, at::kFloat).view({2, 3}) * 2));
  });
}

TEST_P(GroupOver, AllGatherGivesEveryRanksTensorInRankOrder) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const std::vector<at::Tensor> all = all_gather(group, {}, filled(group->rank()))->results();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(at::equal(all[0], filled(0)));
    EXPECT_TRUE(at::equal(all[1], filled(1)));
  });
}

TEST_P(GroupOver, BroadcastAndReduceScatter) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const at::Tensor tensor = filled(group->rank());
    broadcast(group, tensor, 1);
    EXPECT_TRUE(at::equal(tensor, filled(1)));
    const at::Tensor output = filled(0);
    reduce_scatter(group, output, {filled(10), filled(group->rank())}, "sum");
    EXPECT_TRUE(at::equal(output, filled(group->rank() == 0 ? 20 : 1)));
    barrier(group);
  });
}

TEST_P(GroupOver, OneTensorForAllRanks) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const double mine = group->rank();
    const at::Tensor all = at::full({6}, -1.0);
    all_gather_into_tensor(group, all, filled(mine));
    EXPECT_TRUE(at::equal(all, at::cat({filled(0), filled(1)})));
    const at::Tensor output = filled(-1);
    reduce_scatter_tensor(group, output, at::arange(6, at::kFloat), "sum");
    EXPECT_TRUE(at::equal(output, 2 * (at::arange(3, at::kFloat) + 3 * mine)));
  });
}

TEST_P(GroupOver, ToAndFromOneRank) {
  run(3, [](const std::shared_ptr<Group>& group) {
    const bool is_last = group->rank() == 2;
    const at::Tensor sum = filled(group->rank() + 1);
    reduce(group, sum, 2, "sum");
    if (is_last) {
      EXPECT_TRUE(at::equal(sum, filled(6)));
    }
    const std::vector<at::Tensor> all = gather(group, filled(group->rank()), {}, 2)->results();
    ASSERT_EQ(all.size(), is_last ? 3U : 0U);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(at::equal(all[i], filled(static_cast<double>(i))));
    }
    const at::Tensor output = filled(-1);
    scatter(group, output, is_last ? all : std::vector<at::Tensor>(), 2);
    EXPECT_TRUE(at::equal(output, filled(group->rank())));
    EXPECT_THROW(reduce(group, sum, 3, "sum"), Error);
    EXPECT_THROW(gather(group, sum, {}, -1), Error);
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
    all_to_all(group, outputs, inputs);
    for (int other = 0; other < 3; ++other) {
      const at::Tensor& output = outputs[static_cast<size_t>(other)];
      EXPECT_TRUE(at::equal(output, at::full({mine + other + 1, 2}, 10.0 * other + mine)));
    }
    const at::Tensor received = at::full({3}, -1.0);
    all_to_all_single(group, received, at::arange(3, at::kFloat) + 10 * mine, {}, {});
    EXPECT_TRUE(at::equal(received, at::arange(3, at::kFloat) * 10 + mine));
    EXPECT_THROW(all_to_all(group, outputs, {inputs[0]}), Error);
  });
}

TEST_P(GroupOver, BitwiseOperationsOfIntegers) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const int64_t mine = group->rank() == 0 ? 12 : 10;
    for (const auto& [op, expected] :
         std::vector<std::pair<const char*, int64_t>>{{"band", 8}, {"bor", 14}, {"bxor", 6}}) {
      const at::Tensor tensor = at::full({3}, mine, at::kLong);
      all_reduce(group, tensor, op);
      EXPECT_TRUE(at::equal(tensor, at::full({3}, expected, at::kLong))) << op;
    }
  });
}

TEST_P(GroupOver, WhatIsNotWaitedForRunsInTheOrderOfTheCalls) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const double mine = group->rank() + 1;
    const at::Tensor first = at::full({100000}, mine);
    const at::Tensor second = filled(mine);
    const at::Tensor base = at::arange(6, at::kFloat).view({2, 3});
    std::vector<GroupWorkPtr> works{all_reduce(group, first, "sum", true),
                                    broadcast(group, second, 1, true),
                                    all_reduce(group, base.t(), "sum", true)};
    const GroupWorkPtr gathered = all_gather(group, {}, filled(mine), true);
    barrier(group);
    for (const GroupWorkPtr& each : works) each->wait();
    gathered->wait();
    gathered->wait();
    EXPECT_TRUE(gathered->is_completed() && gathered->is_success());
    EXPECT_TRUE(at::equal(first, at::full({100000}, 3.0)));
    EXPECT_TRUE(at::equal(second, filled(2)));
    EXPECT_TRUE(at::equal(base, at::arange(6, at::kFloat).view({2, 3}) * 2));
    EXPECT_TRUE(at::equal(gathered->results()[1], filled(2)));
  });
}

TEST_P(GroupOver, MessagesBetweenTwoRanks) {
  run(3, [](const std::shared_ptr<Group>& group) {
    const int mine = group->rank();
    const int next = (mine + 1) % 3;
    const int before = (mine + 2) % 3;
    const at::Tensor received = at::full({2, 3}, -1.0);
    const GroupWorkPtr sent = send(group, at::full({2, 3}, 1.0 * mine), next, 4, true);
    receive(group, received, before, 4);
    sent->wait();
    EXPECT_TRUE(at::equal(received, at::full({2, 3}, 1.0 * before)));
    // Receives into a view, from whichever rank sends first.
    if (mine != 0) send(group, filled(10 * mine), 0, 0);
    const at::Tensor all = at::full({3, 2}, -1.0);
    for (int i = 0; mine == 0 && i < 2; ++i) {
      const GroupWorkPtr work = receive(group, all.select(1, i), -1, 0);
      EXPECT_TRUE(at::equal(all.select(1, i), filled(10 * work->source_rank())));
    }
    EXPECT_THROW(send(group, received, mine, 0), Error);
    EXPECT_THROW(receive(group, received, 3, 0), Error);
    barrier(group);
  });
}

// Collectives continue while a message that exceeds the ring between two ranks is transferred.
TEST_P(GroupOver, AMessageThatNobodyWaitsForMovesOn) {
  run(2, [](const std::shared_ptr<Group>& group) {
    const at::Tensor data = at::full({1 << 20}, group->rank() + 1.0);
    const GroupWorkPtr work =
        group->rank() == 0 ? send(group, data, 1, 0, true) : receive(group, data, 0, 0, false);
    barrier(group);
    work->wait();
    EXPECT_TRUE(at::equal(data, at::full({1 << 20}, 1.0)));
  });
}

TEST_P(GroupOver, GroupsOfSomeRanks) {
  run(3, [](const std::shared_ptr<Group>& group) {
    const int mine = group->rank();
    NewGroupOptions outer{
        .ranks = {2, 0}, .timeout = std::chrono::seconds(20), .backend = backend()};
    NewGroupOptions upper = outer;
    upper.ranks = {1, 2};
    const auto ends = group->new_group(outer);
    const auto last = group->new_group(upper);
    EXPECT_EQ(ends == nullptr, mine == 1);
    EXPECT_EQ(last == nullptr, mine == 0);
    const at::Tensor tensor = filled(mine + 1);
    // Rank 2 waits in one collective for a rank that is about to call another one.
    if (ends != nullptr) all_reduce(ends, tensor, "sum");
    if (last != nullptr) all_reduce(last, tensor, "sum");
    EXPECT_TRUE(at::equal(tensor, filled(mine == 0 ? 4 : 6)));
    if (ends != nullptr) {
      EXPECT_EQ(ends->rank(), mine == 0 ? 0 : 1);
      EXPECT_EQ(ends->global_rank(1), 2);
      const at::Tensor value = filled(mine);
      broadcast(ends, value, 2);
      EXPECT_TRUE(at::equal(value, filled(2)));
      EXPECT_THROW(broadcast(ends, value, 1), Error);
      ends->close();
      EXPECT_THROW(barrier(ends), Error);
    }
    all_reduce(group, tensor, "max");
    group->close();
    if (last != nullptr) {
      EXPECT_THROW(barrier(last), Error);
    }
  });
}

TEST_P(GroupOver, RefusesAGroupOfNoOrUnknownRanks) {
  run(1, [](const std::shared_ptr<Group>& group) {
    NewGroupOptions wanted{.ranks = {1}, .timeout = std::chrono::seconds(20), .backend = backend()};
    EXPECT_THROW(group->new_group(wanted), Error);
    wanted.ranks = {0, 0};
    EXPECT_THROW(group->new_group(wanted), Error);
    wanted.ranks.clear();
    const auto all = group->new_group(wanted);
    EXPECT_EQ(all->world_size(), 1);
    EXPECT_THROW(all->new_group(wanted), Error);
  });
}

TEST(GroupOverShm, AllGatherOfDifferentSizes) {
  run_ranks(3, [](const std::shared_ptr<Group>& group) {
    std::vector<at::Tensor> outputs;
    for (int rank = 0; rank < 3; ++rank) outputs.push_back(at::full({rank + 1}, -1.0));
    const int mine = group->rank();
    all_gather(group, outputs, at::full({mine + 1}, 1.0 * mine));
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(at::equal(outputs[static_cast<size_t>(rank)], at::full({rank + 1}, 1.0 * rank)));
    }
  });
}

TEST_P(GroupOver, RefusesAnUnknownOperationAndRank) {
  run(1, [](const std::shared_ptr<Group>& group) {
    EXPECT_THROW(all_reduce(group, filled(1), "mean"), Error);
    EXPECT_THROW(broadcast(group, filled(1), 1), Error);
  });
}

TEST_P(GroupOver, ALostPeerIsNamedAsTheCauseAndEndsTheGroup) {
  run(2, [](const std::shared_ptr<Group>& group) {
    barrier(group);
    if (group->rank() == 1) _exit(0);
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        all_reduce(group, filled(1), "sum");
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
    const api::HostApi api;
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

TEST(GroupOverGloo, ARankThatDoesNotConnectIsWaitedForUntilTheConnectionsAreCut) {
  fork_ranks(1, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    static const api::HostApi api;
    GroupOptions options = rank_options(rank, 2);
    options.backend = "gloo";
    store->set("group/test/connected/1", "\n\n");  // rank 1 had arrived and has ended
    std::atomic<bool> is_over = false;
    std::thread cutter([&] {
      while (!is_over) cut_gloo_connections();
    });
    try {
      const Group group(options, store, api);
      ADD_FAILURE() << "there is no other rank";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kPeerLost);
      EXPECT_NE(error.message().find("a rank was lost while it connected"), std::string::npos)
          << error.message();
    }
    is_over = true;
    cutter.join();
  });
}

bool is_stopped(pid_t pid) {
  std::ifstream file(cat("/proc/", pid, "/stat"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return text.find(") T ") != std::string::npos;
}

// The kernel holds a part of the message that a stopped rank does not read: Gloo alone would wait
// for the rest.
void lose_a_rank_in_a_broadcast(int rank, const c10::intrusive_ptr<c10d::Store>& store,
                                const GroupOptions& options) {
  static const api::HostApi api;
  const auto group = std::make_shared<Group>(options, store, api);
  const at::Tensor data = at::full({int64_t{1} << 26}, 1.0 - rank);
  const auto lost = [&] {
    try {
      broadcast(group, data, 0);
      ADD_FAILURE() << "the connection was cut";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kPeerLost) << error.message();
    }
  };
  if (rank == 1) {
    store->set("pid", std::to_string(getpid()));
    std::thread stopper([&] {
      const volatile float* first = data.const_data_ptr<float>();
      while (*first == 0) std::this_thread::yield();
      kill(getpid(), SIGSTOP);
      cut_gloo_connections();
    });
    lost();
    stopper.join();
    return;
  }
  if (rank == 2) return lost();  // it shares memory with rank 0, which leaves the segment
  const pid_t pid = std::stoi(store->get_to_str("pid"));
  std::thread cutter([&] {
    while (!is_stopped(pid)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    cut_gloo_connections();
  });
  const auto start = std::chrono::steady_clock::now();
  lost();
  cutter.join();
  group->close();
  EXPECT_LT(std::chrono::steady_clock::now() - start, options.timeout);
  kill(pid, SIGCONT);
}

TEST(GroupOverGloo, AWaitForARankThatTakesNothingEndsWhenTheConnectionsAreCut) {
  fork_ranks(2, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    GroupOptions options = rank_options(rank, 2);
    options.backend = "gloo";
    lose_a_rank_in_a_broadcast(rank, store, options);
  });
}

TEST(GroupOfSeveralNodes, AWaitForARankThatTakesNothingEndsWhenTheConnectionsAreCut) {
  fork_ranks(3, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    GroupOptions options = rank_options(rank, 3);
    options.address = rank == 1 ? "127.0.0.2" : "127.0.0.1";
    lose_a_rank_in_a_broadcast(rank, store, options);
  });
}

TEST(GroupOverGloo, AMessageThatNobodyTakesEndsWhenTheConnectionsAreCut) {
  fork_ranks(2, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    static const api::HostApi api;
    GroupOptions options = rank_options(rank, 2);
    options.backend = "gloo";
    const auto group = std::make_shared<Group>(options, store, api);
    if (rank == 1) return store->wait({"rank 0 is done"}, options.timeout);
    std::thread cutter(cut_gloo_connections);
    try {
      receive(group, filled(0), 1, 0);
      ADD_FAILURE() << "nobody has sent anything";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kPeerLost) << error.message();
    }
    cutter.join();
    store->set("rank 0 is done", "1");
  });
}

TEST_P(GroupOver, ARankThatStopsCallingIsATimeout) {
  fork_ranks(2, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    const api::HostApi api;
    GroupOptions options = GroupOver::options(rank, 2);
    options.timeout = std::chrono::milliseconds(500);
    const auto group = std::make_shared<Group>(options, store, api);
    if (rank == 1) {
      store->wait({"rank 0 is done"}, std::chrono::seconds(20));
      return;
    }
    try {
      barrier(group);
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
    EXPECT_STREQ(group->backend_name(), has_hosts() ? "gloo" : GetParam());
    barrier(group);
  });
}

TEST_P(GroupOver, UseAfterCloseIsAnError) {
  run(1, [](const std::shared_ptr<Group>& group) {
    group->close();
    group->close();
    EXPECT_THROW(barrier(group), Error);
  });
}

}  // namespace
}  // namespace rtrain::engine
