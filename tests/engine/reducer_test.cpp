#include "host/engine/distributed/reducer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>
#include <gtest/gtest.h>

#include "host/engine/distributed/collectives.h"
#include "tests/engine/ranks.h"

namespace rtrain::engine {
namespace {

constexpr int kBatch = 4;
constexpr int kSteps = 3;

at::Tensor random(std::initializer_list<int64_t> sizes, uint64_t seed) {
  return at::randn(sizes, at::make_generator<at::CPUGeneratorImpl>(seed));
}

// Two layers. The second may be left out.
struct Net {
  std::vector<at::Tensor> params;

  explicit Net(uint64_t seed) {
    params = {random({16, 8}, seed) * 0.2, random({16, 16}, seed + 1) * 0.2,
              random({4, 16}, seed + 2) * 0.2};
    for (at::Tensor& param : params) param.requires_grad_();
  }

  at::Tensor operator()(const at::Tensor& input, bool whole) const {
    at::Tensor hidden = at::tanh(at::linear(input, params[0]));
    if (whole) hidden = at::tanh(at::linear(hidden, params[1]));
    return at::linear(hidden, params[2]);
  }

  void step() {
    const c10::NoGradGuard no_grad;
    for (at::Tensor& param : params) {
      param.add_(param.grad(), -0.1);
      param.mutable_grad().zero_();
    }
  }

  at::Tensor flat() const {
    std::vector<at::Tensor> out;
    for (const at::Tensor& param : params) out.push_back(param.detach().flatten());
    return at::cat(out);
  }
};

struct Case {
  const char* name;
  ReducerOptions options;
  int micro_batches = 1;  // all except the last run without synchronization
  bool rank_1_skips_a_layer = false;
};

at::Tensor inputs(int step) { return random({2 * kBatch, 8}, 100 + static_cast<uint64_t>(step)); }

at::Tensor rows(const at::Tensor& all, int rank) {
  return all.slice(0, rank * kBatch, (rank + 1) * kBatch);
}

// The parameters after one rank has trained on the whole batch.
at::Tensor train_alone(const Case& test) {
  Net net(1);
  for (int step = 0; step < kSteps; ++step) {
    for (int micro = 0; micro < test.micro_batches; ++micro) {
      const at::Tensor input = inputs(step * test.micro_batches + micro);
      const at::Tensor loss = (net(rows(input, 0), true).pow(2).mean() +
                               net(rows(input, 1), !test.rank_1_skips_a_layer).pow(2).mean()) /
                              (2 * test.micro_batches);
      loss.backward();
    }
    net.step();
  }
  return net.flat();
}

at::Tensor train_rank(const Case& test, const std::shared_ptr<Group>& group) {
  Net net(1 + static_cast<uint64_t>(group->rank()) * 50);  // the reducer makes ranks equal
  const auto reducer = Reducer::create(group, net.params, test.options);
  const bool whole = !(test.rank_1_skips_a_layer && group->rank() == 1);
  for (int step = 0; step < kSteps; ++step) {
    for (int micro = 0; micro < test.micro_batches; ++micro) {
      const bool sync = micro + 1 == test.micro_batches;
      const at::Tensor input = rows(inputs(step * test.micro_batches + micro), group->rank());
      reducer->before_forward(sync);
      const at::Tensor output = reducer->after_forward({net(input, whole)}, sync)[0];
      (output.pow(2).mean() / test.micro_batches).backward();
    }
    net.step();
  }
  return net.flat();
}

class ReducerTraining : public testing::TestWithParam<Case> {};

TEST_P(ReducerTraining, TwoRanksComputeWhatOneDoesOnTheDoubleBatch) {
  run_ranks(2, [](const std::shared_ptr<Group>& group) {
    const at::Tensor mine = train_rank(GetParam(), group);
    const GroupWorkPtr gathered = all_gather(group, {}, mine);
    for (const at::Tensor& other : gathered->results()) {
      EXPECT_TRUE(at::equal(mine, other)) << "ranks differ";
    }
    EXPECT_LE((mine - train_alone(GetParam())).abs().max().item<double>(), 1e-6);
  });
}

ReducerOptions with(bool ReducerOptions::*field, bool value) {
  ReducerOptions out;
  out.*field = value;
  return out;
}

ReducerOptions small_buckets() {
  ReducerOptions out;
  out.bucket_cap_mb = 0.0005;
  return out;
}

INSTANTIATE_TEST_SUITE_P(
    Reducer, ReducerTraining,
    testing::Values(Case{"plain", {}}, Case{"small_buckets", small_buckets()},
                    Case{"no_bucket_views", with(&ReducerOptions::gradient_as_bucket_view, false)},
                    Case{"no_sync", {}, 2},
                    Case{"find_unused", with(&ReducerOptions::find_unused_parameters, true), 1,
                         true},
                    Case{"static_graph", with(&ReducerOptions::static_graph, true)}),
    [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

TEST(Reducer, GivesEveryRankTheValuesOfRankZero) {
  run_ranks(2, [](const std::shared_ptr<Group>& group) {
    Net net(static_cast<uint64_t>(group->rank()) * 10);
    ReducerOptions options;
    options.buffers = {at::full({2}, group->rank() + 1.0)};
    options.frozen = {at::full({2}, group->rank() + 1.0)};
    const at::Tensor buffer = options.buffers[0];
    const auto reducer = Reducer::create(group, net.params, options);
    EXPECT_TRUE(at::equal(net.flat(), Net(0).flat()));
    EXPECT_TRUE(at::equal(buffer, at::full({2}, 1.0)));
    EXPECT_TRUE(at::equal(options.frozen[0], at::full({2}, 1.0)));
    buffer.fill_(group->rank() + 7.0);
    reducer->before_forward(true);
    EXPECT_TRUE(at::equal(buffer, at::full({2}, 7.0))) << "buffers follow rank 0 before forward";
    reducer->after_forward({}, false);
    buffer.fill_(group->rank() + 7.0);
    reducer->before_forward(false);
    EXPECT_TRUE(at::equal(buffer, at::full({2}, group->rank() + 7.0))) << "but not after no_sync";
  });
}

TEST(Reducer, AnUnusedParameterIsExplained) {
  run_ranks(2, [](const std::shared_ptr<Group>& group) {
    Net net(1);
    const auto reducer = Reducer::create(group, net.params, {});
    const auto step = [&] {
      reducer->before_forward(true);
      reducer->after_forward({}, true);
      net(rows(inputs(0), group->rank()), false).sum().backward();
    };
    step();
    try {
      step();
      FAIL() << "one parameter had no gradient";
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("find_unused_parameters"), std::string::npos)
          << error.message();
    }
  });
}

TEST(Reducer, RefusesParametersThatCannotBeTrained) {
  run_ranks(1, [](const std::shared_ptr<Group>& group) {
    Net net(1);
    EXPECT_THROW(Reducer::create(group, {}, {}), Error);
    EXPECT_THROW(Reducer::create(group, {net.params[0], net.params[0]}, {}), Error);
    EXPECT_THROW(Reducer::create(group, {net.params[0].detach()}, {}), Error);
  });
}

TEST(Reducer, UseAfterTheGroupsEndIsAnError) {
  run_ranks(1, [](const std::shared_ptr<Group>& group) {
    Net net(1);
    const auto reducer = Reducer::create(group, net.params, {});
    group->close();
    EXPECT_THROW(reducer->before_forward(true), Error);
    net(rows(inputs(0), 0), true).sum().backward();  // the gradient hooks were removed
  });
}

std::vector<std::string>& told() {
  static std::vector<std::string> texts;
  return texts;
}

// Expects the order and sizes that Python's DistributedDataParallel logs for the same model
// (rebuilt_bucket_sizes 4239400, 29388800, 4198400 bytes): nine Linear(1024, 1024), one to 10.
TEST(Reducer, SendsTheBucketsThatPythonSendsInItsOrder) {
  fork_ranks(2, [](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
    static api::HostApi api;
    api.enter_collective = [](const char* operation, const std::string& tensors,
                              api::CollectiveGroup*) {
      told().push_back(cat(operation, " ", tensors));
      return uint64_t{0};
    };
    const auto group = std::make_shared<Group>(rank_options(rank, 2), store, api);
    std::vector<at::Tensor> params;
    for (int layer = 0; layer < 10; ++layer) {
      const int64_t outputs = layer == 9 ? 10 : 1024;
      params.push_back(at::full({outputs, 1024}, 0.5).requires_grad_());
      params.push_back(at::full({outputs}, 0.5).requires_grad_());
    }
    const auto reducer = Reducer::create(group, params, {});
    for (int step = 0; step < 3; ++step) {
      told().clear();
      reducer->before_forward(true);
      at::Tensor out = at::full({1, 1024}, 1.0);
      for (size_t i = 0; i < params.size(); i += 2) out = at::linear(out, params[i], params[i + 1]);
      reducer->after_forward({out}, true);
      out.sum().backward();
    }
    EXPECT_EQ(told(), (std::vector<std::string>{"all_reduce float32 [1059850]",
                                                "all_reduce float32 [7347200]",
                                                "all_reduce float32 [1049600]"}));
  });
}

}  // namespace
}  // namespace rtrain::engine
