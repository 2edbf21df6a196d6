#include "host/engine/distributed/hooks/virtual_sums.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "host/base/error.h"
#include "host/engine/distributed/reducer.h"
#include "tests/engine/ranks.h"

namespace rtrain::engine {
namespace {

constexpr int kSteps = 4;
constexpr int kBatch = 3;

at::Tensor random(std::initializer_list<int64_t> sizes, uint64_t seed) {
  return at::randn(sizes, at::make_generator<at::CPUGeneratorImpl>(seed));
}

struct Net {
  std::vector<at::Tensor> params{random({40, 8}, 1) * 0.3, random({4, 40}, 2) * 0.3};

  Net() {
    for (at::Tensor& param : params) param.requires_grad_();
  }
  at::Tensor loss(int step, int virtual_rank) const {
    const at::Tensor input =
        random({kBatch, 8}, static_cast<uint64_t>(100 * step + virtual_rank + 10));
    return at::linear(at::tanh(at::linear(input, params[0])), params[1]).pow(2).mean();
  }
  void move() {
    const c10::NoGradGuard no_grad;
    for (at::Tensor& param : params) param.add_(param.grad(), -0.2);
  }
};

bool zeroes(int step, int every) { return (step + 1) % every == 0; }

// The sum of the leaves begin … begin + size − 1 of a tree, by its definition; size is a power
// of 2.
at::Tensor sum_of(const std::vector<at::Tensor>& leaves, size_t begin, size_t size) {
  if (size == 1) return leaves[begin];
  const at::Tensor left = sum_of(leaves, begin, size / 2);
  if (begin + size / 2 >= leaves.size()) return left;
  return left + sum_of(leaves, begin + size / 2, size / 2);
}

// One process, without a reducer: a gradient of each virtual rank by itself.
std::vector<at::Tensor> train_alone(int num_virtual, int zeroed_every) {
  Net net;
  for (at::Tensor& param : net.params) param.mutable_grad() = at::zeros_like(param);
  size_t whole = 1;
  while (whole < static_cast<size_t>(num_virtual)) whole *= 2;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::vector<at::Tensor>> all(net.params.size());
    for (int each = 0; each < num_virtual; ++each) {
      Net copy;
      for (size_t i = 0; i < net.params.size(); ++i)
        copy.params[i].set_data(net.params[i].detach());
      copy.loss(step, each).backward();
      for (size_t i = 0; i < all.size(); ++i) all[i].push_back(copy.params[i].grad());
    }
    for (size_t i = 0; i < all.size(); ++i) {
      at::Tensor mean = sum_of(all[i], 0, whole) / num_virtual;
      if (step > 0 && !zeroes(step - 1, zeroed_every)) mean = mean + net.params[i].grad();
      net.params[i].mutable_grad() = mean;
    }
    if (zeroes(step, zeroed_every)) net.move();
  }
  std::vector<at::Tensor> out;
  for (const at::Tensor& param : net.params) out.push_back(param.detach());
  return out;
}

std::vector<at::Tensor> train_rank(const std::shared_ptr<Group>& group, int num_virtual,
                                   int zeroed_every, ReducerOptions options) {
  Net net;
  options.bucket_cap_mb = 0.0005;
  options.num_virtual = num_virtual;
  const auto reducer = Reducer::create(group, net.params, options);
  const LeafRange range = options.shares.empty()
                              ? LeafRange::of(num_virtual, group->rank(), group->world_size())
                              : LeafRange::of(options.shares, group->rank());
  for (int step = 0; step < kSteps; ++step) {
    for (int each = range.begin; each < range.end; ++each) {
      reducer->before_forward(true, each);
      reducer->after_forward({}, true);
      net.loss(step, each).backward();
      reducer->end_virtual_rank(false);
    }
    if (!zeroes(step, zeroed_every)) continue;
    net.move();
    const c10::NoGradGuard no_grad;
    for (at::Tensor& param : net.params) param.mutable_grad().zero_();
    reducer->note_zeroed(net.params);
  }
  std::vector<at::Tensor> out;
  for (const at::Tensor& param : net.params) out.push_back(param.detach());
  return out;
}

class VirtualSumsOver : public testing::TestWithParam<const char*> {
 protected:
  static void run(int world_size, const std::function<void(const std::shared_ptr<Group>&)>& body) {
    const bool has_hosts = std::string_view(GetParam()) == "hosts";
    const std::string backend = has_hosts ? "cpu:shm,cuda:nccl" : GetParam();
    fork_ranks(world_size, [&](int rank, const c10::intrusive_ptr<c10d::Store>& store) {
      static const api::HostApi api;
      GroupOptions options = rank_options(rank, world_size);
      options.backend = backend;
      if (has_hosts && world_size > 1) {
        options.address = rank + 1 < world_size ? "127.0.0.1" : "127.0.0.2";
      }
      body(std::make_shared<Group>(options, store, api));
    });
  }

  static void expect_equal(int num_virtual, int world_size, int zeroed_every,
                           const ReducerOptions& options = {}) {
    run(world_size, [&](const std::shared_ptr<Group>& group) {
      const auto mine = train_rank(group, num_virtual, zeroed_every, options);
      const auto wanted = train_alone(num_virtual, zeroed_every);
      for (size_t i = 0; i < mine.size(); ++i) {
        EXPECT_TRUE(at::equal(mine[i], wanted[i]))
            << num_virtual << " virtual ranks, " << world_size << " processes, parameter " << i;
      }
    });
  }
};

INSTANTIATE_TEST_SUITE_P(VirtualSums, VirtualSumsOver, testing::Values("shm", "gloo", "hosts"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(VirtualSumsOver, ProcessesThatComputeUnequalNumbersHaveTheSameBits) {
  for (const std::vector<int>& shares :
       {std::vector{1, 7}, std::vector{6, 2}, std::vector{3, 1, 4}, std::vector{1, 1, 6}}) {
    ReducerOptions options;
    options.shares = shares;
    expect_equal(8, static_cast<int>(shares.size()), 1, options);
  }
}

TEST_P(VirtualSumsOver, AnyNumberOfProcessesHasTheBitsOfOneThatAddsAlongTheTree) {
  for (const int num_virtual : {1, 2, 6, 8}) {
    for (const int world_size : {1, 2, 3, 5, 8}) {
      if (world_size <= num_virtual) expect_equal(num_virtual, world_size, 1);
    }
  }
}

TEST_P(VirtualSumsOver, GradientsThatAreNotZeroedAreAddedToTheMean) {
  for (const int world_size : {1, 2, 3}) expect_equal(3, world_size, 2);
}

TEST_P(VirtualSumsOver, GradientsMayHaveMemoryOfTheirOwn) {
  ReducerOptions options;
  options.gradient_as_bucket_view = false;
  for (const int zeroed_every : {1, 2}) expect_equal(5, 2, zeroed_every, options);
}

template <class Fn>
std::string text_of_error(const Fn& fn) {
  try {
    fn();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST_P(VirtualSumsOver, WhatIsNotOneBackwardOfEachIsRefused) {
  run(1, [](const std::shared_ptr<Group>& group) {
    Net net;
    ReducerOptions options;
    options.num_virtual = 3;
    std::shared_ptr<Reducer> reducer;
    const auto begin = [&] {
      if (reducer != nullptr) reducer->close();
      reducer = Reducer::create(group, net.params, options);
    };
    const auto forward = [&](int each) {
      reducer->before_forward(true, each);
      reducer->after_forward({}, true);
      return net.loss(0, each);
    };
    begin();
    EXPECT_NE(text_of_error([&] { forward(-1).backward(); }).find("belong to no virtual rank"),
              std::string::npos);
    begin();
    forward(0).backward();
    EXPECT_NE(text_of_error([&] { forward(0); }).find("after its backward pass"),
              std::string::npos);
    begin();
    EXPECT_NE(text_of_error([&] { forward(2); }).find("virtual rank 0 had no forward"),
              std::string::npos);
    begin();
    forward(0);
    EXPECT_NE(text_of_error([&] { reducer->end_virtual_rank(false); }).find("no backward pass"),
              std::string::npos);
  });
}

}  // namespace
}  // namespace rtrain::engine
