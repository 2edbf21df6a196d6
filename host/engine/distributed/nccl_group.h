// host/engine/distributed/nccl_group.h: the NCCL half of a group: its backend, and a thread that
// looks after it.
//
// A collective over NCCL is given to the device and not waited for; where it never ends, the rank's
// own thread is stuck in the driver, and LibTorch would abort the process. Here the thread ends the
// worker with the first cause instead: which collective, since when, and who has not come. In a
// process that cannot be ended (local mode) it aborts the communicators, so that the stuck thread
// comes back. The same where another rank is lost, and this one continues without it (cut). It
// touches neither Lua nor a tensor.
//
// Made, used and closed by the thread of a Lua state. Nothing waits without a deadline: what NCCL
// does not give back in time is left to the process's end.
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

namespace rtrain {

struct NcclGroupOptions {
  int rank = 0;
  int world_size = 1;
  int device = 0;
  std::chrono::milliseconds timeout{};
  std::chrono::milliseconds start_timeout{};  // for connecting the devices
  bool is_high_priority_stream = false;
  std::shared_ptr<CollectiveGroup> members;  // null: all ranks
};

class NcclGroup {
 public:
  // Connects the devices of all ranks, which are already synchronized. `host` outlives the
  // process's NCCL.
  NcclGroup(const NcclGroupOptions& options, const CudaGroupsApi& api,
            const c10::intrusive_ptr<c10d::Store>& store, const HostApi& host);
  ~NcclGroup() { close(); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  c10::intrusive_ptr<c10d::Backend> backend() const;
  int device() const;
  // What has ended the group, whoever noticed.
  std::optional<Error> failure() const;

  // Waits for what the device was given, as long as the group's deadline allows, then leaves the
  // communicators. Calling it again does nothing.
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

// Of the whole process: whoever waits for a device comes back, and every later collective raises
// Error(kInterrupted). Any thread.
void abort_nccl_groups() noexcept;

// The same without waiting, since a rank is lost: every later collective raises Error(kPeerLost).
void cut_nccl_groups() noexcept;

}  // namespace rtrain
