// host/engine/distributed/nccl_group.h: the NCCL part of a group: its backend and a thread that
// watches it.
//
// A rank submits an NCCL collective to the device and does not wait for it. If it never ends, the
// rank's own thread hangs in the driver, and LibTorch would abort the process. Instead, the watch
// thread ends the worker with the first cause: which collective, since when, and which ranks have
// not called it. In a process that cannot be ended (local mode) it aborts the communicators, so
// that the hanging thread returns. It does the same when another rank is lost and this one
// continues without it (cut). It uses neither Lua nor tensors.
//
// The thread of a Lua state creates, uses and closes it. Nothing waits without a deadline: NCCL
// resources that are not released in time remain until the process ends.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "host/api/host_api.h"
#include "host/base/error.h"
#include "host/engine/cuda/groups_api.h"

namespace rtrain::engine {

struct NcclGroupOptions {
  int rank = 0;
  int world_size = 1;
  int device = 0;
  std::chrono::milliseconds timeout{};
  std::chrono::milliseconds start_timeout{};  // for connecting the devices
  bool is_high_priority_stream = false;
  std::shared_ptr<api::CollectiveGroup> members;  // null: all ranks
};

class NcclGroup {
 public:
  // Connects the devices of all ranks, which have synchronized before. `host` must outlive all uses
  // of NCCL in the process.
  NcclGroup(const NcclGroupOptions& options, const CudaGroupsApi& api,
            const c10::intrusive_ptr<c10d::Store>& store, const api::HostApi& host);
  ~NcclGroup() { close(); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  c10::intrusive_ptr<c10d::Backend> backend() const;
  int device() const;
  // The error that has ended the group, from this thread or another.
  std::optional<Error> failure() const;

  // Waits, until the group's deadline, for the work submitted to the device, then destroys the
  // communicators. A second call does nothing.
  void close() noexcept;

 private:
  friend void abort_nccl_groups() noexcept;
  friend void cut_nccl_groups() noexcept;
  struct State;
  static std::mutex& living_mutex();
  static std::vector<std::weak_ptr<State>>& living();
  static std::vector<std::shared_ptr<State>> all_living();
  std::shared_ptr<State> state_;
};

// Aborts all groups of the process: threads that wait for a device return, and every later
// collective throws Error(kInterrupted). Any thread.
void abort_nccl_groups() noexcept;

// Marks all groups as cut after a lost rank, without waiting: every later collective throws
// Error(kPeerLost).
void cut_nccl_groups() noexcept;

}  // namespace rtrain::engine
