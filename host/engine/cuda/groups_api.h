// host/engine/cuda/groups_api.h: process groups over NCCL, as librtrain_cuda.so makes them.
// The functions throw c10::Error.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "host/engine/cuda/notify_collective.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace rtrain {

struct NcclOptions {
  int rank = 0;
  int world_size = 1;
  int device = 0;  // this rank's; nothing else may travel over the group
  std::chrono::milliseconds timeout{};
  bool is_high_priority_stream = false;
  NotifyCollective notify;
  // A collective was given to NCCL: its number from `notify`, and its number in this group.
  std::function<void(uint64_t number, uint64_t sequence)> on_given;
  // LibTorch wants to abort the process; the text says why. Any thread.
  std::function<void(const std::string& reason)> on_abort;
};

struct CudaGroupsApi {
  // Does not synchronize yet.
  c10::intrusive_ptr<c10d::Backend> (*create)(const c10::intrusive_ptr<c10d::Store>& store,
                                              NcclOptions options) = nullptr;
  // The sequence of the oldest collective that the device has not finished, 0 when there is none;
  // nothing while LibTorch's watchdog is looking. Never waits; any thread.
  std::optional<uint64_t> (*pending)(c10d::Backend& backend) = nullptr;
  // What NCCL says that has gone wrong; empty: nothing. Never waits; any thread.
  std::string (*problem)(c10d::Backend& backend) = nullptr;
  // What LibTorch's flight recorder has kept of this process, as JSON. May wait for the driver.
  std::string (*trace)() = nullptr;
  // "2.28.9", of the library that is loaded.
  std::string (*version)() = nullptr;
};

}  // namespace rtrain
