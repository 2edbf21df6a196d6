// host/engine/memory/allocator.h: the process's CPU allocator for tensors, with statistics, and the
// same statistics of devices, whose allocators LibTorch has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtrain::engine {

// Bytes that this thread has allocated since it last triggered garbage collection (collector.h).
extern thread_local constinit int64_t thread_uncollected_bytes;

// Makes LibTorch use this allocator. Only the first call in the process has an effect.
void install_allocator();

// Adds memory of another library that a tensor keeps alive (negative: no longer) to the
// statistics.
void note_foreign_bytes(int64_t bytes);

// Starts or stops reporting every tensor's memory to LibTorch's profiler.
void report_memory_to_profiler(bool wanted);

inline constexpr size_t kMostDevices = 128;  // the limit of c10::DeviceIndex

struct DeviceMemory {
  std::string name;             // "cpu", "cuda:0"
  int index = -1;               // of a device
  int64_t allocated_bytes = 0;  // held by tensors
  int64_t peak_bytes = 0;       // highest allocated_bytes so far
  int64_t reserved_bytes = 0;   // allocated from the device: held by tensors or cached
  int64_t total_bytes = 0;      // limit for this process
  int64_t taken_bytes = 0;      // devices only: sum of all allocations so far, freed or not
};

DeviceMemory cpu_memory();

// The devices in use, without the CPU; empty if there are none.
std::vector<DeviceMemory> device_memory();

// This thread's current device; nullopt if no device is in use.
std::optional<DeviceMemory> current_device_memory();

// Whether this thread is capturing a CUDA graph. Nothing may be freed for it then.
bool is_capturing();

// Resets peaks to the current allocated bytes.
void reset_peak_memory();

// Returns cached memory of the allocators to the devices.
void empty_device_caches();

}  // namespace rtrain::engine
