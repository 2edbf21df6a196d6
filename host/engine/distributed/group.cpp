#include "host/engine/distributed/group.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "host/base/clock.h"
#include "host/base/text.h"
#include "host/engine/cuda/cuda.h"
#include "host/engine/distributed/backend_choice.h"
#include "host/engine/distributed/nccl_group.h"
#include "host/engine/distributed/peer_error.h"
#include "host/engine/distributed/reducer.h"
#include "host/engine/distributed/tensor_texts.h"
#include "host/engine/distributed/watched_backend.h"
#include "host/engine/runtime/blocking.h"

namespace rtrain {
namespace {

constexpr std::chrono::milliseconds kRendezvousTimeout = std::chrono::seconds(60);
constexpr const char* kLoopback = "127.0.0.1";

// GLOO_SOCKET_IFNAME is the user's choice among the interfaces to other hosts.
std::shared_ptr<gloo::transport::Device> gloo_device(const std::string& address) {
  if (address.empty()) return c10d::ProcessGroupGloo::createDeviceForHostname(kLoopback);
  const char* chosen = std::getenv("GLOO_SOCKET_IFNAME");
  if (chosen == nullptr || *chosen == '\0') {
    return c10d::ProcessGroupGloo::createDeviceForHostname(address);
  }
  const std::string_view names = chosen;
  return c10d::ProcessGroupGloo::createDeviceForInterface(
      std::string(names.substr(0, names.find(','))));
}

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

std::string device_uuid(int device) {
  return device < 0 ? "" : need_cuda().devices.properties(device).uuid;
}

// Returns when every rank is here, with their devices: one that left as soon as it is connected
// would break the connections that a slower one still makes.
std::vector<std::string> synchronize(c10d::Store& store, const GroupOptions& options) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < options.world_size; ++rank) keys.push_back(cat("connected/", rank));
  const std::string mine = device_uuid(options.backend == "gloo" ? -1 : options.device);
  // No value may be empty: "+" is before each.
  store.set(keys[static_cast<size_t>(options.rank)], "+" + mine);
  store.wait(keys);
  std::vector<std::string> out;
  if (options.backend == "gloo") return out;
  for (const std::string& key : keys) out.push_back(store.get_to_str(key).substr(1));
  return out;
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
  const auto gloo = connect_gloo(scoped, wait);
  const BackendChoice choice = choose_backend(options_.backend, synchronize(*scoped, options_));
  gloo->setTimeout(options_.timeout);
  group_ = c10::make_intrusive<c10d::ProcessGroup>(scoped, options_.rank, options_.world_size);
  group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  if (choice.uses_nccl) {
    connect_nccl(scoped, wait);
  } else if (at::globalContext().hasCUDA()) {
    group_->setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::GLOO, gloo);
  }
  group_->setGroupName(cat("rtrain/", options_.prefix));
  if (choice.reason.empty() || options_.rank != 0 || host_.warn == nullptr) return;
  host_.warn(cat("CUDA tensors travel over Gloo: ", choice.reason));
}

c10::intrusive_ptr<c10d::Backend> Group::connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                                      std::chrono::milliseconds wait) {
  auto options = c10d::ProcessGroupGloo::Options::create(wait);
  options->devices.push_back(gloo_device(options_.address));
  const auto notify = [this](const std::string& operation, const std::vector<at::Tensor>& tensors) {
    if (host_.enter_collective == nullptr) return uint64_t{0};
    return host_.enter_collective(operation.c_str(), describe_tensors(tensors));
  };
  return c10::make_intrusive<Watched<c10d::ProcessGroupGloo>>(
      notify, c10::make_intrusive<c10d::PrefixStore>("gloo", store), options_.rank,
      options_.world_size, options);
}

void Group::connect_nccl(const c10::intrusive_ptr<c10d::Store>& store,
                         std::chrono::milliseconds wait) {
  const CudaGroupsApi& api = need_cuda().groups;
  const NcclGroupOptions options{.rank = options_.rank,
                                 .world_size = options_.world_size,
                                 .device = options_.device,
                                 .timeout = options_.timeout,
                                 .start_timeout = wait,
                                 .is_high_priority_stream = options_.is_high_priority_stream};
  nccl_ = std::make_unique<NcclGroup>(options, api,
                                      c10::make_intrusive<c10d::PrefixStore>("nccl", store), host_);
  // The group hands its device on to what is added to it.
  group_->setBoundDeviceId(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(options_.device)));
  group_->setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::NCCL, nccl_->backend());
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::NCCL);
  if (host_.set_device_trace != nullptr) host_.set_device_trace(api.trace);
}

void Group::check_device(const char* operation, const at::Tensor& tensor) const {
  if (nccl_ == nullptr || !tensor.is_cuda() || tensor.get_device() == nccl_->device()) return;
  throw Error(Code::kArgument, cat(operation, ": the tensor is on cuda:", tensor.get_device(),
                                   ", and this rank's group on cuda:", nccl_->device(),
                                   ": move it there with :to(device)"));
}

void Group::check_usable(const char* operation) const {
  const std::optional<Error> on_device = nccl_ == nullptr ? std::nullopt : nccl_->failure();
  const std::optional<Error>& failure = on_device ? on_device : failure_;
  if (!failure) return;
  throw Error(failure->code(),
              cat(operation, ": the process group failed before: ", failure->message()));
}

Error Group::located(const char* operation, const Error& error, double waited_s) const {
  const std::string where = cat(operation, " on rank ", options_.rank, " of ", options_.world_size);
  if (error.code() == Code::kTimeout) {
    const std::string absent =
        host_.absent_ranks == nullptr ? "" : host_.absent_ranks(0).value_or("");
    return Error(Code::kTimeout,
                 cat(where, " waited ", static_cast<int64_t>(waited_s), " s for the other ranks (",
                     absent.empty() ? error.message() : absent,
                     "): every rank must call the same collectives in the same ",
                     "order; a longer wait is set with torch_config = {timeout_s = …}"));
  }
  return Error(Code::kPeerLost,
               cat(where, " failed because another rank is gone (", error.message(), ")"));
}

void Group::call(const char* operation, const std::function<void()>& body) {
  check_usable(operation);
  const double start_s = monotonic_s();
  const BlockingRegion region(host_, WaitKind::kCollective, operation);
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
  check_device("all_reduce", tensor);
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
  check_device("all_gather", tensor);
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
  check_device("broadcast", tensor);
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
  check_device("reduce_scatter", output);
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
  // Before the group and its store go: NCCL ends over them.
  if (nccl_ != nullptr) nccl_->close();
  group_.reset();
  if (!failure_) {
    failure_ = Error(Code::kArgument, "the process group was destroyed");
  }
}

}  // namespace rtrain
