// host/engine/cuda/groups_api.h: process groups over NCCL, made by librtrain_cuda.so. The functions
// throw c10::Error.
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

namespace rtrain::engine {

struct NcclOptions {
  int rank = 0;
  int world_size = 1;
  int device = 0;  // this rank's device; the group only accepts tensors on it
  std::chrono::milliseconds timeout{};
  bool is_high_priority_stream = false;
  NotifyCollective notify;
  // Called when a collective was passed to NCCL, with its number from `notify` and its sequence
  // number in this group.
  std::function<void(uint64_t number, uint64_t sequence)> on_given;
  // Called when LibTorch wants to abort the process, with the reason. Any thread.
  std::function<void(const std::string& reason)> on_abort;
};

struct CudaGroupsApi {
  // Does not wait for the other ranks.
  c10::intrusive_ptr<c10d::Backend> (*create)(const c10::intrusive_ptr<c10d::Store>& store,
                                              NcclOptions options) = nullptr;
  // The sequence number of the oldest collective that the device has not finished, 0 if there is
  // none, nullopt while LibTorch's watchdog holds the list. Never waits; any thread.
  std::optional<uint64_t> (*pending)(c10d::Backend& backend) = nullptr;
  // The error that NCCL reports; "" if none. Never waits; any thread.
  std::string (*problem)(c10d::Backend& backend) = nullptr;
  // The entries of LibTorch's flight recorder in this process, as JSON. May wait for the driver.
  std::string (*trace)() = nullptr;
  // The version of the loaded library, for example "2.28.9".
  std::string (*version)() = nullptr;
};

}  // namespace rtrain::engine
