// host/engine/distributed/group.h: a process group of one attempt: its members and the transports
// of their tensors. collectives.h has its collectives.
//
// The ranks find each other through a c10d::Store. CPU tensors travel over shared memory if all
// ranks are on one node, else over Gloo; CUDA tensors over NCCL if each rank has its own device,
// else over Gloo. One Lua state owns the group, and only its thread uses it. All ranks must call
// every collective in the same order. A collective that fails because of another rank throws
// Error(kPeerLost) or, at the group's deadline, Error(kTimeout). The group is unusable then: every
// later collective throws the same error. With NCCL a call returns once the collective was
// submitted to the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/api/host_api.h"
#include "host/base/default_timeout.h"
#include "host/base/error.h"
#include "host/engine/cuda/notify_collective.h"
#include "host/engine/distributed/gloo/gloo_connections.h"

namespace c10d {
class Backend;
class ProcessGroup;
class Store;
}  // namespace c10d

namespace rtrain::engine {

class NcclGroup;
class Reducer;
class ShmBackend;
class ShmSegment;
class TensorPlace;
struct NodePlan;

struct GroupOptions {
  int rank = 0;
  int world_size = 1;
  std::chrono::milliseconds timeout = kDefaultTimeout;
  // Prefix of the attempt's keys in the store, so that it shares nothing with an earlier attempt.
  std::string prefix;
  // This node's numeric address for ranks of other nodes; empty if all ranks are on this node.
  std::string address;
  int node = 0;                               // its number; a machine may count as several
  std::string backend = "cpu:shm,cuda:nccl";  // host/engine/distributed/backend_choice.h
  int device = -1;                            // this rank's; below 0: no device
  bool is_high_priority_stream = false;       // for NCCL
  // For a group of some ranks: its number, from 1, and its members' global ranks in the order of
  // their group ranks.
  uint64_t group = 0;
  std::vector<int> ranks;
};

struct NewGroupOptions {
  std::vector<int> ranks;  // empty: all
  std::chrono::milliseconds timeout{};
  std::string backend;
};

// Wide, because it has the ranks, the transports and the closing order in one object; the
// collectives are functions outside of it.
class Group {
 public:
  // Connects to all ranks. Waits for them at most 60 s, or the timeout if that is shorter. `host`
  // may lack its blocking functions. `host` and `store` must outlive the group.
  Group(const GroupOptions& options, const c10::intrusive_ptr<c10d::Store>& store,
        const api::HostApi& host);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const GroupOptions& options() const { return options_; }
  const api::HostApi& host() const { return host_; }
  int rank() const { return options_.rank; }
  int world_size() const { return options_.world_size; }
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return group_; }
  // Whether CUDA tensors travel over NCCL.
  bool uses_nccl() const { return nccl_ != nullptr; }
  // Whether CPU tensors travel over shared memory.
  bool uses_shm() const { return shm_ != nullptr; }
  // Whether a synchronous collective of CPU tensors runs on the caller's thread. Other backends
  // return no Work for a synchronous collective.
  bool runs_in_call() const { return runs_in_call_; }
  // The backend of tensors on this rank's device, or on the CPU if it has none: "nccl", "gloo" or
  // "shm".
  const char* backend_name() const;
  // Memory in which CPU tensors are reduced fastest; null if the backend has no such memory.
  TensorPlace* tensor_place() const;
  // Throws Error(kArgument) for a CUDA tensor on a device other than this rank's NCCL device.
  void check_device(const char* operation, const at::Tensor& tensor) const;

  // Converts a rank in this group to its global rank, and back. rank_of returns -1 for a
  // non-member.
  int global_rank(int rank) const;
  int rank_of(int global_rank) const;
  // Like rank_of, but throws Error(kArgument) for a rank that is not a member.
  int member(const char* operation, int global_rank) const;
  // Like member, but also throws for this rank itself.
  int peer(const char* operation, int global_rank) const;

  // Makes a group of some ranks, in ascending order. All ranks of the world must call it in the
  // same order; ranks that are not members get null. close() also closes it.
  std::shared_ptr<Group> new_group(const NewGroupOptions& wanted);

  // Runs a body that communicates inside LibTorch, and throws this group's errors.
  void call(const char* operation, const std::function<void()>& body,
            WaitKind kind = WaitKind::kCollective);
  // The same for a body that waits for no other rank: it is not shown as a wait.
  void guard(const char* operation, const std::function<void()>& body);

  // Runs a body whose collectives of CPU tensors have another deadline: the operation's timeout_s.
  void with_timeout(const char* operation, std::chrono::milliseconds timeout,
                    const std::function<void()>& body);

  // Waits until the device has finished this rank's NCCL operations. Does nothing without NCCL.
  // Throws like a collective.
  void wait_for_device(const char* operation);

  // Throws like a collective once a rank is known to be lost: for what computes for a long time
  // between two collectives.
  void check_peers(const char* operation);

  // Registers a reducer, which close() closes before the group.
  void add_reducer(const std::shared_ptr<Reducer>& reducer) { reducers_.push_back(reducer); }

  // Closes reducers, groups and store, in this order. Never throws. Later collectives throw. A
  // second call does nothing.
  void close() noexcept;

 private:
  void connect();
  std::string join_segment(c10d::Store& store, int host, int place, int num_ranks);
  void connect_shm();
  std::string join_neighbours(c10d::Store& store, const NodePlan& plan);
  void connect_hosts(const c10::intrusive_ptr<c10d::Store>& store, const NodePlan& plan,
                     std::chrono::milliseconds wait);
  NotifyCollective notifier();
  void connect_nccl(const c10::intrusive_ptr<c10d::Store>& store, std::chrono::milliseconds wait);
  void check_usable(const char* operation) const;
  std::string timeout_setting() const;
  Error located(const char* operation, const Error& error, double waited_s) const;

  GroupOptions options_;
  const api::HostApi& host_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_ptr<api::CollectiveGroup> members_;  // null: all ranks
  const std::shared_ptr<GlooConnections> connections_ = std::make_shared<GlooConnections>();
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::unique_ptr<NcclGroup> nccl_;
  std::shared_ptr<ShmSegment> segment_;
  c10::intrusive_ptr<ShmBackend> shm_;
  bool runs_in_call_ = false;
  bool moves_cuda_ = false;
  const char* has_timeout_ = nullptr;  // the operation of with_timeout
  std::vector<std::weak_ptr<Reducer>> reducers_;
  uint64_t num_groups_ = 0;
  std::vector<std::weak_ptr<Group>> groups_;
  std::optional<Error> failure_;
};

}  // namespace rtrain::engine
