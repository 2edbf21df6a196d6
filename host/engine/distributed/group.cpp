#include "host/engine/distributed/group.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "host/base/clock.h"
#include "host/base/text.h"
#include "host/engine/blocking.h"
#include "host/engine/distributed/peer_error.h"
#include "host/engine/distributed/reducer.h"
#include "host/engine/distributed/watched_backend.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kRendezvousTimeout = std::chrono::seconds(60);
constexpr const char* kLoopback = "127.0.0.1";

c10d::ReduceOp reduce_op(std::string_view name) {
  using Type = c10d::ReduceOp::RedOpType;
  static constexpr std::array<std::pair<std::string_view, Type>, 5> kOps = {
      {{"sum", Type::SUM},
       {"avg", Type::AVG},
       {"min", Type::MIN},
       {"max", Type::MAX},
       {"product", Type::PRODUCT}}};
  for (const auto& [known, type] : kOps) {
    if (known == name) return c10d::ReduceOp(type);
  }
  throw Error(Code::kArgument,
              cat("unknown reduce operation '", name, "': use sum, avg, min, max or product"));
}

// Gloo writes to its sockets without MSG_NOSIGNAL: unless the program ignores SIGPIPE, a lost peer
// would kill this rank.
void ignore_broken_pipes() {
  struct sigaction current;
  if (sigaction(SIGPIPE, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
  current.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &current, nullptr);
}

// Calls `run` with a contiguous tensor that shares no autograd history, and copies its result back
// where that is a copy.
template <class Run>
void in_place(const at::Tensor& tensor, Run run) {
  const at::Tensor target = tensor.detach();
  const at::Tensor dense = target.contiguous();
  run(dense);
  if (!dense.is_same(target)) target.copy_(dense);
}

// Returns when every rank is here: one that left as soon as it is connected would break the
// connections that a slower one still makes.
void meet(c10d::Store& store, const GroupOptions& options) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < options.world_size; ++rank) keys.push_back(cat("connected/", rank));
  store.set(keys[static_cast<size_t>(options.rank)], std::vector<uint8_t>{1});
  store.wait(keys);
}

}  // namespace

Group::Group(const GroupOptions& options, const c10::intrusive_ptr<c10d::Store>& store,
             const HostApi& host)
    : options_(options), host_(host) {
  if (options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size) {
    throw Error(Code::kArgument, cat("rank ", options.rank, " of a world of ", options.world_size,
                                     ": ranks count from 0 and are below the world size"));
  }
  call("init_process_group", [&] { connect(store); });
}

Group::~Group() { close(); }

void Group::connect(const c10::intrusive_ptr<c10d::Store>& store) {
  ignore_broken_pipes();
  const std::chrono::milliseconds wait = std::min(kRendezvousTimeout, options_.timeout);
  store->setTimeout(wait);
  const auto scoped = c10::make_intrusive<c10d::PrefixStore>(cat("group/", options_.prefix), store);
  auto gloo_options = c10d::ProcessGroupGloo::Options::create(wait);
  gloo_options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(kLoopback));
  const c10::intrusive_ptr<c10d::Backend> backend =
      c10::make_intrusive<Watched<c10d::ProcessGroupGloo>>(
          host_, c10::make_intrusive<c10d::PrefixStore>("gloo", scoped), options_.rank,
          options_.world_size, gloo_options);
  meet(*scoped, options_);
  backend->setTimeout(options_.timeout);
  group_ = c10::make_intrusive<c10d::ProcessGroup>(scoped, options_.rank, options_.world_size);
  group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO, backend);
  if (at::globalContext().hasCUDA()) {
    group_->setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::GLOO, backend);
  }
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  group_->setGroupName(cat("rtrain/", options_.prefix));
}

void Group::check_usable(const char* operation) const {
  if (failure_) {
    throw Error(failure_->code(),
                cat(operation, ": the process group failed before: ", failure_->message()));
  }
}

Error Group::located(const char* operation, const Error& error, double waited_s) const {
  const std::string where = cat(operation, " on rank ", options_.rank, " of ", options_.world_size);
  if (error.code() == Code::kTimeout) {
    return Error(Code::kTimeout,
                 cat(where, " waited ", static_cast<int64_t>(waited_s), " s for the other ranks (",
                     error.message(), "): every rank must call the same collectives in the same ",
                     "order; a longer wait is set with torch_config = {timeout_s = …}"));
  }
  return Error(Code::kPeerLost,
               cat(where, " failed because another rank is gone (", error.message(), ")"));
}

void Group::call(const char* operation, const std::function<void()>& body) {
  check_usable(operation);
  const double start_s = monotonic_s();
  const BlockingRegion region(host_, operation);
  std::optional<Error> cause;
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != Code::kPeerLost && error.code() != Code::kTimeout) throw;
    cause = error;
  } catch (const c10::Error& error) {
    cause = peer_error(error.what_without_backtrace());
    if (!cause) throw;
  } catch (const std::exception& error) {
    cause = peer_error(error.what());
    if (!cause) throw;
  }
  if (!cause) return;
  failure_ = located(operation, *cause, monotonic_s() - start_s);
  throw Error(*failure_);
}

void Group::all_reduce(const at::Tensor& tensor, std::string_view op) {
  c10d::AllreduceOptions options;
  options.reduceOp = reduce_op(op);
  call("all_reduce", [&] {
    const c10::NoGradGuard no_grad;
    in_place(tensor, [&](const at::Tensor& dense) {
      std::vector<at::Tensor> tensors{dense};
      group_->allreduce(tensors, options)->wait();
    });
  });
}

std::vector<at::Tensor> Group::all_gather(const at::Tensor& tensor) {
  std::vector<std::vector<at::Tensor>> out(1);
  call("all_gather", [&] {
    const c10::NoGradGuard no_grad;
    std::vector<at::Tensor> in{tensor.detach().contiguous()};
    for (int i = 0; i < options_.world_size; ++i) out[0].push_back(at::empty_like(in[0]));
    group_->allgather(out, in)->wait();
  });
  return std::move(out[0]);
}

void Group::broadcast(const at::Tensor& tensor, int src) {
  if (src < 0 || src >= options_.world_size) {
    throw Error(Code::kArgument, cat("broadcast: there is no rank ", src, " in a world of ",
                                     options_.world_size, " (ranks count from 0)"));
  }
  c10d::BroadcastOptions options;
  options.rootRank = src;
  call("broadcast", [&] {
    const c10::NoGradGuard no_grad;
    in_place(tensor, [&](const at::Tensor& dense) {
      std::vector<at::Tensor> tensors{dense};
      group_->broadcast(tensors, options)->wait();
    });
  });
}

void Group::reduce_scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs,
                           std::string_view op) {
  if (inputs.size() != static_cast<size_t>(options_.world_size)) {
    throw Error(Code::kArgument, cat("reduce_scatter: ", inputs.size(), " inputs for ",
                                     options_.world_size, " ranks: give one for each rank"));
  }
  for (const at::Tensor& input : inputs) {
    if (input.sizes() != output.sizes()) {
      throw Error(Code::kArgument, "reduce_scatter: every input must have the shape of the output");
    }
  }
  c10d::ReduceScatterOptions options;
  options.reduceOp = reduce_op(op);
  call("reduce_scatter", [&] {
    const c10::NoGradGuard no_grad;
    in_place(output, [&](const at::Tensor& dense) {
      std::vector<at::Tensor> flat;
      for (const at::Tensor& input : inputs) flat.push_back(input.detach().reshape({-1}));
      at::Tensor all = at::cat(flat);
      at::Tensor mine = dense.view({-1});
      group_->_reduce_scatter_base(mine, all, options)->wait();
    });
  });
}

void Group::barrier() {
  call("barrier", [&] { group_->barrier()->wait(); });
}

void Group::close() noexcept {
  for (const auto& weak : reducers_) {
    if (const auto reducer = weak.lock()) reducer->close();
  }
  reducers_.clear();
  group_.reset();
  if (!failure_) {
    failure_ = Error(Code::kArgument, "the process group was destroyed");
  }
}

}  // namespace rtrain
