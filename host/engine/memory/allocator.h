// host/engine/memory/allocator.h: the process's CPU allocator for tensors, which counts, and the
// same figures of the devices that LibTorch manages itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtrain {

// Bytes that this thread allocated since they last triggered garbage collection (collector.h).
extern thread_local constinit int64_t thread_uncollected_bytes;

// Makes LibTorch use this allocator. First call of the process; later ones do nothing.
void install_allocator();

// Counts memory that another library allocated and a tensor keeps (negative: gives up) with the
// tensors' own.
void note_foreign_bytes(int64_t bytes);

// Tells LibTorch's profiler of every tensor's memory, or no more.
void report_memory_to_profiler(bool wanted);

inline constexpr size_t kMostDevices = 128;  // c10::DeviceIndex has no more

struct DeviceMemory {
  std::string name;             // "cpu", "cuda:0"
  int index = -1;               // of a device
  int64_t allocated_bytes = 0;  // held by tensors
  int64_t peak_bytes = 0;       // the most of it so far
  int64_t reserved_bytes = 0;   // taken from the device: held by tensors or cached
  int64_t total_bytes = 0;      // what this process may use
  int64_t taken_bytes = 0;      // allocated in all so far, freed or not; of devices
};

DeviceMemory cpu_memory();

// The devices in use other than the CPU; empty where there are none.
std::vector<DeviceMemory> device_memory();

// The device that this thread works on; nothing where none is in use.
std::optional<DeviceMemory> current_device_memory();

// Whether this thread records a CUDA graph: nothing may then be freed or given back on its behalf.
bool is_capturing();

// Takes the peaks down to what is allocated now.
void reset_peak_memory();

// Gives back to the devices what their allocators keep for later.
void empty_device_caches();

}  // namespace rtrain
