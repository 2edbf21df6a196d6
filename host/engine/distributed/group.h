// host/engine/distributed/group.h: a process group of one attempt: its members and what their
// tensors travel over. What they do with it is in collectives.h.
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
#include <vector>

#include "host/api/host_api.h"
#include "host/base/error.h"
#include "host/engine/cuda/notify_collective.h"
#include "host/engine/distributed/gloo/gloo_connections.h"

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
struct HostPlan;

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
  // Of a group of some ranks: its number, from 1, and their numbers among all, by rank in it.
  uint64_t group = 0;
  std::vector<int> ranks;
};

struct NewGroupOptions {
  std::vector<int> ranks;  // empty: all
  std::chrono::milliseconds timeout{};
  std::string backend;
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

  const GroupOptions& options() const { return options_; }
  int rank() const { return options_.rank; }
  int world_size() const { return options_.world_size; }
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return group_; }
  // What CUDA tensors travel over.
  bool uses_nccl() const { return nccl_ != nullptr; }
  // What CPU tensors travel over.
  bool uses_shm() const { return shm_ != nullptr; }
  // Whether a collective of CPU tensors that is waited for runs on the caller's thread. Other
  // backends return no work for one that is not asynchronous.
  bool runs_in_call() const { return runs_in_call_; }
  // "nccl", "gloo" or "shm": what tensors of this rank's device travel over, or of the CPU where it
  // has none.
  const char* backend_name() const;
  // Where CPU tensors should lie that are reduced often; null where that makes no difference.
  TensorPlace* tensor_place() const;
  // Throws Error(kArgument) for a tensor that this rank's NCCL cannot move.
  void check_device(const char* operation, const at::Tensor& tensor) const;

  // Of a rank in this group: its number among all. And back: -1 for one that is not in it.
  int global_rank(int rank) const;
  int rank_of(int global_rank) const;
  // The same; throws Error(kArgument) for one that is not in it.
  int member(const char* operation, int global_rank) const;
  // Likewise, and for this rank itself.
  int peer(const char* operation, int global_rank) const;

  // Of some of the ranks, in ascending order. All ranks of the world call it in the same order;
  // null for those that are not in the group. It closes with this one.
  std::shared_ptr<Group> new_group(const NewGroupOptions& wanted);

  // Runs something that communicates inside LibTorch, with this group's errors.
  void call(const char* operation, const std::function<void()>& body,
            WaitKind kind = WaitKind::kCollective);
  // The same of a call that waits for no other rank: it is not shown as a wait.
  void guard(const char* operation, const std::function<void()>& body);

  // Waits until what this rank has given its device over NCCL is done; does nothing without NCCL.
  // Throws as a collective does.
  void wait_for_device(const char* operation);

  // Reducers are closed before the group they use.
  void add_reducer(const std::shared_ptr<Reducer>& reducer) { reducers_.push_back(reducer); }

  // Ordered teardown: reducers, groups, store. Never throws; later collectives raise. Calling it
  // again does nothing.
  void close() noexcept;

 private:
  void connect();
  std::string join_segment(c10d::Store& store, int host, int place, int num_ranks);
  void connect_shm();
  std::string join_neighbours(c10d::Store& store, const HostPlan& plan);
  void connect_hosts(const c10::intrusive_ptr<c10d::Store>& store, const HostPlan& plan,
                     std::chrono::milliseconds wait);
  NotifyCollective notifier();
  void connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, std::chrono::milliseconds wait);
  void check_usable(const char* operation) const;
  Error located(const char* operation, const Error& error, double waited_s) const;

  GroupOptions options_;
  const HostApi& host_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_ptr<CollectiveGroup> members_;  // null: all ranks
  const std::shared_ptr<GlooConnections> connections_ = std::make_shared<GlooConnections>();
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::unique_ptr<NcclGroup> nccl_;
  std::shared_ptr<ShmSegment> segment_;
  c10::intrusive_ptr<ShmBackend> shm_;
  bool runs_in_call_ = false;
  bool moves_cuda_ = false;
  std::vector<std::weak_ptr<Reducer>> reducers_;
  uint64_t num_groups_ = 0;
  std::vector<std::weak_ptr<Group>> groups_;
  std::optional<Error> failure_;
};

}  // namespace rtrain
