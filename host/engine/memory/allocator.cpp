#include "host/engine/memory/allocator.h"

#include <ATen/Context.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>

#include "host/base/text/text.h"
#include "host/engine/cuda/cuda.h"
#include "host/engine/memory/memory_recording.h"
#include "host/engine/memory/policy.h"
#include "host/engine/memory/size_text.h"
#include "host/engine/memory/tensor_place.h"
#include "host/machine/machine.h"

namespace rtrain::engine {

thread_local constinit int64_t thread_uncollected_bytes = 0;

namespace {

thread_local TensorPlace* thread_place = nullptr;
constexpr size_t kLargeBytes = size_t{64} << 10;

std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};
AdmissionRule admission;

// Who is notified of allocations. A bit mask in one variable, so that the check costs one branch.
enum Listener : uint8_t { kProfiler = 1, kRecording = 2 };
std::atomic<uint8_t> listeners{0};

void set_listener(Listener listener, bool wanted) {
  if (wanted) {
    listeners.fetch_or(listener);
  } else {
    listeners.fetch_and(static_cast<uint8_t>(~listener));
  }
}

// bytes: negative for freed memory; `used`: the requested part of it.
void notify(uint8_t notified, void* data, int64_t bytes, size_t used) {
  const int64_t live = live_bytes.load(std::memory_order_relaxed);
  if ((notified & kProfiler) != 0) {
    c10::reportMemoryUsageToProfiler(data, bytes, static_cast<size_t>(live), 0,
                                     c10::Device(c10::kCPU));
  }
  if ((notified & kRecording) == 0) return;
  if (bytes < 0) return record_freed(data, live);
  record_taken(data, used, live);
}

void notify_listeners(void* data, int64_t bytes, size_t used = 0) {
  const uint8_t notified = listeners.load(std::memory_order_relaxed);
  if (notified != 0) [[unlikely]]
    notify(notified, data, bytes, used);
}

void note_taken(int64_t bytes) {
  thread_uncollected_bytes += bytes;
  const int64_t live = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (live > peak_bytes.load(std::memory_order_relaxed)) {
    peak_bytes.store(live, std::memory_order_relaxed);
  }
}

// Memory and swap that this process occupies.
int64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  int64_t out = 0;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmRSS:") && !line.starts_with("VmSwap:")) continue;
    out += std::strtoll(line.c_str() + line.find(':') + 1, nullptr, 10) * 1024;
  }
  return out;
}

// Throws c10::OutOfMemoryError for a request that the kernel would grant but cannot back with
// memory.
void admit(size_t size) {
  constexpr size_t kMost = INT64_MAX / 2;
  const auto wanted = static_cast<int64_t>(std::min(size, kMost));
  const int64_t live = live_bytes.load(std::memory_order_relaxed);
  if (!admission.must_ask(wanted, live)) return;
  const int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  const int64_t free =
      AdmissionRule::own_free(machine::free_memory_bytes(), resident_bytes(), live, peak);
  if (admission.admits(wanted, live, free)) return;
  TORCH_CHECK_WITH(OutOfMemoryError, false, "out of memory on the CPU. Tried to allocate ",
                   size_text(wanted), "; ", size_text(std::max<int64_t>(free, 0)),
                   " are free, tensors hold ", size_text(live));
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    if (thread_place != nullptr && size >= kLargeBytes) {
      if (c10::DataPtr placed = thread_place->allocate(size)) return placed;
    }
    void* data = allocate_bytes(size);
    if (data != nullptr) {
      const auto bytes = static_cast<int64_t>(malloc_usable_size(data));
      note_taken(bytes);
      notify_listeners(data, bytes, size);
    }
    return {data, data, &free_bytes, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_bytes; }
  void copy_data(void* to, const void* from, size_t size) const override {
    std::memcpy(to, from, size);
  }

 private:
  static void* allocate_bytes(size_t size) {
    admit(size);
    try {
      return c10::alloc_cpu(size);
    } catch (const c10::Error& e) {
      TORCH_CHECK_WITH(OutOfMemoryError, false, "out of memory on the CPU. Tried to allocate ",
                       size_text(static_cast<int64_t>(size)), "; tensors hold ",
                       size_text(live_bytes.load()));
    }
  }
  static void free_bytes(void* data) {
    if (data == nullptr) return;
    const auto bytes = static_cast<int64_t>(malloc_usable_size(data));
    live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    notify_listeners(data, -bytes);
    c10::free_cpu(data);
  }
};

// LibTorch's allocator of CUDA devices; null until they are used.
c10::DeviceAllocator* cuda_allocator() {
  if (!at::globalContext().hasCUDA()) return nullptr;
  auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::kCUDA));
  return allocator != nullptr && allocator->initialized() ? allocator : nullptr;
}

c10::DeviceIndex cuda_count() {
  return static_cast<c10::DeviceIndex>(at::detail::getCUDAHooks().getNumGPUs());
}

// A device's total memory. Asks the driver only once per device.
int64_t device_total(c10::DeviceAllocator& cuda, c10::DeviceIndex device) {
  static std::array<std::atomic<int64_t>, kMostDevices> totals{};
  std::atomic<int64_t>& total = totals.at(static_cast<size_t>(device));
  if (total.load(std::memory_order_relaxed) == 0) {
    total.store(static_cast<int64_t>(cuda.getMemoryInfo(device).second));
  }
  return total.load(std::memory_order_relaxed);
}

std::optional<DeviceMemory> memory_of(c10::DeviceAllocator& cuda, c10::DeviceIndex device) {
  const auto stats = cuda.getDeviceStats(device);
  if (stats.reserved_bytes[0].peak == 0) return std::nullopt;
  const double fraction = cuda_api() == nullptr ? 1 : cuda_api()->allocator.memory_fraction(device);
  const auto total = static_cast<double>(device_total(cuda, device));
  return DeviceMemory{.name = cat("cuda:", static_cast<int>(device)),
                      .index = device,
                      .allocated_bytes = stats.allocated_bytes[0].current,
                      .peak_bytes = stats.allocated_bytes[0].peak,
                      .reserved_bytes = stats.reserved_bytes[0].current,
                      .total_bytes = static_cast<int64_t>(total * fraction),
                      .taken_bytes = stats.allocated_bytes[0].allocated};
}

}  // namespace

void install_allocator() {
  static std::once_flag once;
  std::call_once(once, [] {
    static CountingAllocator allocator;
    c10::SetCPUAllocator(&allocator, /*priority=*/100);
  });
}

TensorPlaceScope::TensorPlaceScope(TensorPlace* place)
    : before_(std::exchange(thread_place, place)) {}

TensorPlaceScope::~TensorPlaceScope() { thread_place = before_; }

void report_memory_to_profiler(bool wanted) { set_listener(kProfiler, wanted); }

void record_allocations(bool wanted) { set_listener(kRecording, wanted); }

void note_foreign_bytes(int64_t bytes) {
  if (bytes >= 0) return note_taken(bytes);
  live_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

DeviceMemory cpu_memory() {
  const int64_t live = live_bytes.load(std::memory_order_relaxed);
  static const int64_t total = machine::memory_bytes();
  return {.name = "cpu",
          .allocated_bytes = live,
          .peak_bytes = peak_bytes.load(std::memory_order_relaxed),
          .reserved_bytes = live,
          .total_bytes = total};
}

std::vector<DeviceMemory> device_memory() {
  std::vector<DeviceMemory> out;
  c10::DeviceAllocator* cuda = cuda_allocator();
  for (c10::DeviceIndex i = 0; cuda != nullptr && i < cuda_count(); ++i) {
    if (auto memory = memory_of(*cuda, i)) out.push_back(*std::move(memory));
  }
  return out;
}

std::optional<DeviceMemory> current_device_memory() {
  c10::DeviceAllocator* cuda = cuda_allocator();
  if (cuda == nullptr) return std::nullopt;
  return memory_of(*cuda, c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice().index());
}

bool is_capturing() {
  if (cuda_api() == nullptr || cuda_allocator() == nullptr) return false;
  try {
    return cuda_api()->graphs.is_current_stream_capturing();
  } catch (const c10::Error&) {
    return true;  // nothing can be freed on a lost device
  }
}

void reset_peak_memory() {
  peak_bytes.store(live_bytes.load());
  c10::DeviceAllocator* cuda = cuda_allocator();
  for (c10::DeviceIndex i = 0; cuda != nullptr && i < cuda_count(); ++i) cuda->resetPeakStats(i);
}

void empty_device_caches() {
  if (c10::DeviceAllocator* cuda = cuda_allocator()) cuda->emptyCache();
}

}  // namespace rtrain::engine
