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
#include "host/engine/distributed/shm/backend.h"
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

constexpr const char* kSegmentKey = "segment";

// What each rank says when it is here: its device, and why it cannot share memory, or "".
struct Arrival {
  std::string device;
  std::string problem;
};

// Returns when every rank is here: one that left as soon as it is connected would break the
// connections that a slower one still makes.
std::vector<Arrival> synchronize(c10d::Store& store, const GroupOptions& options,
                                 const Arrival& mine) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < options.world_size; ++rank) keys.push_back(cat("connected/", rank));
  // No value may be empty.
  store.set(keys[static_cast<size_t>(options.rank)], cat(mine.device, "\n", mine.problem));
  store.wait(keys);
  std::vector<Arrival> out;
  for (const std::string& key : keys) {
    const std::string text = store.get_to_str(key);
    const size_t end = text.find('\n');
    out.push_back({.device = text.substr(0, end), .problem = text.substr(end + 1)});
  }
  return out;
}

// The first rank's that has one.
std::string problem_of(const std::vector<Arrival>& arrivals) {
  for (size_t rank = 0; rank < arrivals.size(); ++rank) {
    if (!arrivals[rank].problem.empty()) return cat("rank ", rank, ": ", arrivals[rank].problem);
  }
  return "";
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
  const Transports transports = transports_of(options_.backend);
  moves_cuda_ = transports.cuda != CudaTransport::kNone;
  const bool has_devices = at::globalContext().hasCUDA();
  const bool asks_devices =
      transports.cuda == CudaTransport::kNcclOrGloo || transports.cuda == CudaTransport::kNccl;
  const std::vector<Arrival> arrivals =
      synchronize(*scoped, options_,
                  {.device = asks_devices ? device_uuid(options_.device) : "",
                   .problem = join_segment(*scoped, transports)});
  const std::string problem = problem_of(arrivals);
  std::vector<std::string> devices;
  for (const Arrival& each : arrivals) devices.push_back(each.device);
  const CudaChoice choice = choose_cuda(transports.cuda, devices);
  group_ = c10::make_intrusive<c10d::ProcessGroup>(scoped, options_.rank, options_.world_size);
  if (transports.cpu != CpuTransport::kGloo && problem.empty()) connect_shm();
  if (transports.cpu == CpuTransport::kOnlyShm && !problem.empty()) {
    throw Error(Code::kEnvironment, cat("backend 'shm': ", problem));
  }
  const bool cuda_over_gloo = has_devices && !choice.uses_nccl && moves_cuda_;
  if (shm_ == nullptr || cuda_over_gloo) {
    const auto gloo = connect_gloo(scoped, wait);
    // Nobody leaves before all are connected.
    gloo->barrier(c10d::BarrierOptions())->wait();
    gloo->setTimeout(options_.timeout);
    if (shm_ == nullptr) group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
    if (cuda_over_gloo) {
      group_->setBackend(c10::kCUDA, c10d::ProcessGroup::BackendType::GLOO, gloo);
    }
    group_->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  }
  if (shm_ != nullptr) group_->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  if (choice.uses_nccl) connect_nccl(scoped, wait);
  group_->setGroupName(cat("rtrain/", options_.prefix));
  if (options_.rank != 0 || host_.warn == nullptr) return;
  if (!choice.reason.empty()) host_.warn(cat("CUDA tensors travel over Gloo: ", choice.reason));
  if (shm_ == nullptr && transports.cpu == CpuTransport::kShm && options_.address.empty()) {
    host_.warn(cat("CPU tensors travel over Gloo: ", problem));
  }
}

// What keeps this rank from sharing memory with the others, or "". Rank 0 makes the segment.
std::string Group::join_segment(c10d::Store& store, const Transports& transports) {
  if (transports.cpu == CpuTransport::kGloo) return "";
  if (!options_.address.empty()) return "the ranks are on several hosts";
  try {
    if (options_.rank == 0) {
      segment_ = std::make_shared<ShmSegment>(ShmSegment::create(0, options_.world_size));
      store.set(kSegmentKey, segment_->address().to_text());
      return "";
    }
    const auto address = ShmSegment::Address::parse(store.get_to_str(kSegmentKey));
    segment_ =
        std::make_shared<ShmSegment>(ShmSegment::open(address, options_.rank, options_.world_size));
    return "";
  } catch (const Error& e) {
    if (e.code() != Code::kEnvironment) throw;
    if (options_.rank == 0) store.set(kSegmentKey, "none");
    return e.message();
  }
}

void Group::connect_shm() {
  segment_->seal();
  shm_ = c10::make_intrusive<Watched<ShmBackend>>(notifier(), segment_, options_.timeout);
  group_->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::CUSTOM, shm_);
}

const char* Group::backend_name() const {
  if (uses_nccl()) return "nccl";
  return uses_shm() && options_.device < 0 ? "shm" : "gloo";
}

// A collective that the caller waits for then runs on its own thread. Other backends return no work
// for a call that is not asynchronous.
bool Group::moves_by_shm(const at::Tensor& tensor) const { return uses_shm() && tensor.is_cpu(); }

TensorPlace* Group::tensor_place() const { return shm_ == nullptr ? nullptr : shm_->arena().get(); }

NotifyCollective Group::notifier() {
  return [this](const std::string& operation, const std::vector<at::Tensor>& tensors) {
    if (host_.enter_collective == nullptr) return uint64_t{0};
    return host_.enter_collective(operation.c_str(), describe_tensors(tensors));
  };
}

c10::intrusive_ptr<c10d::Backend> Group::connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                                      std::chrono::milliseconds wait) {
  auto options = c10d::ProcessGroupGloo::Options::create(wait);
  options->devices.push_back(gloo_device(options_.address));
  return c10::make_intrusive<Watched<c10d::ProcessGroupGloo>>(
      notifier(), c10::make_intrusive<c10d::PrefixStore>("gloo", store), options_.rank,
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
  if (!tensor.is_cuda()) return;
  if (!moves_cuda_) {
    throw Error(Code::kArgument, cat(operation,
                                     ": the backend 'shm' moves tensors of the CPU: set "
                                     "torch_config = {backend = 'cpu:shm,cuda:nccl'} for both"));
  }
  if (nccl_ == nullptr || tensor.get_device() == nccl_->device()) return;
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
  options.asyncOp = !moves_by_shm(tensor);
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
  c10d::AllgatherOptions options;
  options.asyncOp = !moves_by_shm(tensor);
  call("all_gather", [&] {
    const c10::NoGradGuard no_grad;
    std::vector<at::Tensor> in{tensor.detach().contiguous()};
    for (int i = 0; i < options_.world_size; ++i) out[0].push_back(at::empty_like(in[0]));
    group_->allgather(out, in, options)->wait();
  });
  return std::move(out[0]);
}

void Group::broadcast(const at::Tensor& tensor, int src) {
  check_rank("broadcast", src);
  c10d::BroadcastOptions options;
  options.asyncOp = !moves_by_shm(tensor);
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
  check_count("reduce_scatter", inputs);
  for (const at::Tensor& input : inputs) {
    if (input.sizes() != output.sizes()) {
      throw Error(Code::kArgument, "reduce_scatter: every input must have the shape of the output");
    }
  }
  c10d::ReduceScatterOptions options;
  options.asyncOp = !moves_by_shm(output);
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

void Group::reduce_scatter_tensor(const at::Tensor& output, const at::Tensor& input,
                                  std::string_view op) {
  c10d::ReduceScatterOptions options;
  options.asyncOp = !moves_by_shm(output);
  options.reduceOp = reduce_op(op);
  check_device("reduce_scatter_tensor", output);
  call("reduce_scatter_tensor", [&] {
    const c10::NoGradGuard no_grad;
    at::Tensor all = input.detach().contiguous();
    in_place(output,
             [&](at::Tensor dense) { group_->_reduce_scatter_base(dense, all, options)->wait(); });
  });
}

void Group::all_gather_into_tensor(const at::Tensor& output, const at::Tensor& input) {
  c10d::AllgatherOptions options;
  options.asyncOp = !moves_by_shm(output);
  check_device("all_gather_into_tensor", output);
  call("all_gather_into_tensor", [&] {
    const c10::NoGradGuard no_grad;
    at::Tensor own = input.detach().contiguous();
    in_place(output,
             [&](at::Tensor dense) { group_->_allgather_base(dense, own, options)->wait(); });
  });
}

void Group::reduce(const at::Tensor& tensor, int dst, std::string_view op) {
  check_rank("reduce", dst);
  c10d::ReduceOptions options;
  options.asyncOp = !moves_by_shm(tensor);
  options.reduceOp = reduce_op(op);
  options.rootRank = dst;
  check_device("reduce", tensor);
  call("reduce", [&] {
    const c10::NoGradGuard no_grad;
    in_place(tensor, [&](const at::Tensor& dense) {
      std::vector<at::Tensor> tensors{dense};
      group_->reduce(tensors, options)->wait();
    });
  });
}

std::vector<at::Tensor> Group::gather(const at::Tensor& tensor, int dst) {
  check_rank("gather", dst);
  c10d::GatherOptions options;
  options.asyncOp = !moves_by_shm(tensor);
  options.rootRank = dst;
  std::vector<std::vector<at::Tensor>> out;
  check_device("gather", tensor);
  call("gather", [&] {
    const c10::NoGradGuard no_grad;
    std::vector<at::Tensor> in{tensor.detach().contiguous()};
    if (rank() == dst) out.emplace_back();
    for (int i = 0; rank() == dst && i < world_size(); ++i) out[0].push_back(at::empty_like(in[0]));
    group_->gather(out, in, options)->wait();
  });
  return out.empty() ? std::vector<at::Tensor>() : std::move(out[0]);
}

void Group::scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs, int src) {
  check_rank("scatter", src);
  if (rank() == src) check_count("scatter", inputs);
  c10d::ScatterOptions options;
  options.asyncOp = !moves_by_shm(output);
  options.rootRank = src;
  check_device("scatter", output);
  call("scatter", [&] {
    const c10::NoGradGuard no_grad;
    std::vector<std::vector<at::Tensor>> lists;
    if (rank() == src) lists.emplace_back();
    for (const at::Tensor& each : inputs) {
      if (rank() == src) lists[0].push_back(each.detach().contiguous());
    }
    in_place(output, [&](const at::Tensor& dense) {
      std::vector<at::Tensor> out{dense};
      group_->scatter(out, lists, options)->wait();
    });
  });
}

void Group::all_to_all(const std::vector<at::Tensor>& outputs,
                       const std::vector<at::Tensor>& inputs) {
  check_count("all_to_all", inputs);
  check_count("all_to_all", outputs);
  // As one tensor of numbers each: not every backend takes lists.
  std::vector<at::Tensor> flat;
  std::vector<int64_t> input_sizes, output_sizes;
  for (const at::Tensor& each : inputs) {
    flat.push_back(each.detach().reshape({-1}));
    input_sizes.push_back(each.numel());
  }
  for (const at::Tensor& each : outputs) output_sizes.push_back(each.numel());
  const c10::NoGradGuard no_grad;
  int64_t count = 0;
  for (const int64_t each : output_sizes) count += each;
  const at::Tensor received = at::empty({count}, outputs[0].options());
  all_to_all_single(received, at::cat(flat), output_sizes, input_sizes);
  int64_t begin = 0;
  for (const at::Tensor& each : outputs) {
    each.detach().copy_(received.narrow(0, begin, each.numel()).view_as(each));
    begin += each.numel();
  }
}

void Group::all_to_all_single(const at::Tensor& output, const at::Tensor& input,
                              std::vector<int64_t> output_sizes, std::vector<int64_t> input_sizes) {
  c10d::AllToAllOptions options;
  options.asyncOp = !moves_by_shm(output);
  check_device("all_to_all", output);
  call("all_to_all", [&] {
    const c10::NoGradGuard no_grad;
    at::Tensor all = input.detach().contiguous();
    in_place(output, [&](at::Tensor dense) {
      group_->alltoall_base(dense, all, output_sizes, input_sizes, options)->wait();
    });
  });
}

void Group::check_rank(const char* operation, int rank) const {
  if (rank >= 0 && rank < options_.world_size) return;
  throw Error(Code::kArgument, cat(operation, ": there is no rank ", rank, " in a world of ",
                                   options_.world_size, " (ranks count from 0)"));
}

void Group::check_count(const char* operation, const std::vector<at::Tensor>& tensors) const {
  if (tensors.size() == static_cast<size_t>(options_.world_size)) return;
  throw Error(Code::kArgument, cat(operation, ": ", tensors.size(), " tensors for ",
                                   options_.world_size, " ranks: give one for each rank"));
}

void Group::barrier() {
  c10d::BarrierOptions options;
  options.asyncOp = !uses_shm() || uses_nccl();
  call("barrier", [&] { group_->barrier(options)->wait(); });
}

void Group::close() noexcept {
  for (const auto& weak : reducers_) {
    if (const auto reducer = weak.lock()) reducer->close();
  }
  reducers_.clear();
  // Before the group and its store go: NCCL ends over them.
  if (nccl_ != nullptr) nccl_->close();
  group_.reset();
  shm_.reset();
  segment_.reset();
  if (!failure_) {
    failure_ = Error(Code::kArgument, "the process group was destroyed");
  }
}

}  // namespace rtrain
