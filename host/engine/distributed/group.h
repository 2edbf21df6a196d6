// host/engine/distributed/group.h: a process group of one attempt and its collectives.
//
// Its ranks find each other through a c10d::Store. CPU tensors travel over shared memory where all
// ranks are on one host, else over Gloo; CUDA tensors over NCCL where each rank has a device to
// itself, else over Gloo. Owned by one Lua state and used by its thread only. Every collective must
// be called by all ranks in the same order. When one fails on another rank's account,
// Error(kPeerLost) or, at the group's deadline, Error(kTimeout) says so, and every later collective
// raises the same: the group is dead. Over NCCL a collective has been given to the device when its
// call returns.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"
#include "host/base/host_api.h"
#include "host/engine/cuda/notify_collective.h"

namespace c10d {
class Backend;
class ProcessGroup;
class Store;
}  // namespace c10d

namespace rtrain {

class NcclGroup;
class Reducer;
class ShmBackend;
class ShmSegment;
class TensorPlace;
struct Transports;

struct GroupOptions {
  int rank = 0;
  int world_size = 1;
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  // Distinguishes attempts in the store: nothing is shared with a dead attempt.
  std::string prefix;
  // Numeric, of this host, at which ranks of other hosts reach it; empty: all are on this one.
  std::string address;
  std::string backend = "cpu:shm,cuda:nccl";  // host/engine/distributed/backend_choice.h
  int device = -1;                            // of this rank; below 0: it has none
  bool is_high_priority_stream = false;       // of NCCL
};

class Group {
 public:
  // Connects to all ranks; waits for them at most 60 s, or the timeout when that is shorter. `host`
  // may lack its blocking functions; both must outlive the group.
  Group(const GroupOptions& options, const c10::intrusive_ptr<c10d::Store>& store,
        const HostApi& host);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return options_.rank; }
  int world_size() const { return options_.world_size; }
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return group_; }
  // What CUDA tensors travel over.
  bool uses_nccl() const { return nccl_ != nullptr; }
  // What CPU tensors travel over.
  bool uses_shm() const { return shm_ != nullptr; }
  // "nccl", "gloo" or "shm": what tensors of this rank's device travel over, or of the CPU where it
  // has none.
  const char* backend_name() const;
  // Where CPU tensors should lie that are reduced often; null where that makes no difference.
  TensorPlace* tensor_place() const;
  // Throws Error(kArgument) for a tensor that this rank's NCCL cannot move.
  void check_device(const char* operation, const at::Tensor& tensor) const;

  // In place. op: "sum", "avg", "min", "max", "product".
  void all_reduce(const at::Tensor& tensor, std::string_view op);
  // Every rank's tensor, by rank. All must have the same shape and dtype.
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor);
  // In place: rank src's values on every rank.
  void broadcast(const at::Tensor& tensor, int src);
  // output = rank's entry of the elementwise reduction of every rank's list. One input a rank, all
  // shaped like output.
  void reduce_scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs,
                      std::string_view op);
  // The same of one tensor, whose parts are the ranks' entries.
  void reduce_scatter_tensor(const at::Tensor& output, const at::Tensor& input,
                             std::string_view op);
  // `output`: room for every rank's tensor, one behind the other.
  void all_gather_into_tensor(const at::Tensor& output, const at::Tensor& input);
  // In place, on rank dst; what the others have afterwards is not defined.
  void reduce(const at::Tensor& tensor, int dst, std::string_view op);
  // Every rank's tensor, on rank dst; elsewhere none.
  std::vector<at::Tensor> gather(const at::Tensor& tensor, int dst);
  // output = rank's entry of rank src's list, which the others leave empty.
  void scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs, int src);
  // A tensor to each rank, and one from each. Sizes of two ranks for each other agree.
  void all_to_all(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs);
  // The same of parts of one tensor: of that many rows, or equal ones where no sizes are given.
  void all_to_all_single(const at::Tensor& output, const at::Tensor& input,
                         std::vector<int64_t> output_sizes, std::vector<int64_t> input_sizes);
  void barrier();

  // Runs something that communicates inside LibTorch, with this group's errors.
  void call(const char* operation, const std::function<void()>& body);

  // Reducers are closed before the group they use.
  void add_reducer(const std::shared_ptr<Reducer>& reducer) { reducers_.push_back(reducer); }

  // Ordered teardown: reducers, groups, store. Never throws; later collectives raise. Calling it
  // again does nothing.
  void close() noexcept;

 private:
  void connect(const c10::intrusive_ptr<c10d::Store>& store);
  std::string join_segment(c10d::Store& store, const Transports& transports);
  void connect_shm();
  NotifyCollective notifier();
  bool moves_by_shm(const at::Tensor& tensor) const;
  c10::intrusive_ptr<c10d::Backend> connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                                 std::chrono::milliseconds wait);
  void connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, std::chrono::milliseconds wait);
  void check_usable(const char* operation) const;
  void check_rank(const char* operation, int rank) const;
  void check_count(const char* operation, const std::vector<at::Tensor>& tensors) const;
  Error located(const char* operation, const Error& error, double waited_s) const;

  GroupOptions options_;
  const HostApi& host_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::unique_ptr<NcclGroup> nccl_;
  std::shared_ptr<ShmSegment> segment_;
  c10::intrusive_ptr<ShmBackend> shm_;
  bool moves_cuda_ = false;
  std::vector<std::weak_ptr<Reducer>> reducers_;
  std::optional<Error> failure_;
};

}  // namespace rtrain
