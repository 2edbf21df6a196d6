#include "host/engine/memory/collector.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "host/engine/memory/policy.h"

namespace rtrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr size_t kMostDevices = 64;

std::atomic<int64_t> collections{0};
Ceiling cpu_ceiling;
Ceiling device_ceilings[kMostDevices];

// A finaliser may push tensors itself, or raise.
class Collecting {
 public:
  explicit Collecting(Vm& vm) : vm_(vm) { vm.collecting = true; }
  ~Collecting() { vm_.collecting = false; }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

 private:
  Vm& vm_;
};

// The passes of a full collection: the first runs finalisers, the second frees what they held.
void collect(Vm& vm, lua_State* L, int passes) {
  const Collecting collecting(vm);
  for (int i = 0; i < passes; ++i) lua_gc(L, LUA_GCCOLLECT, 0);
  thread_debt_bytes = 0;
  collections.fetch_add(1, std::memory_order_relaxed);
}

bool any_ceiling_passed() {
  const DeviceMemory cpu = cpu_memory();
  bool passed = cpu_ceiling.is_passed(cpu.allocated_bytes, cpu.total_bytes);
  const auto devices = device_memory();
  for (size_t i = 0; i < std::min(devices.size(), kMostDevices); ++i) {
    passed |= device_ceilings[i].is_passed(devices[i].allocated_bytes, devices[i].total_bytes);
  }
  return passed;
}

void settle_ceilings() {
  const DeviceMemory cpu = cpu_memory();
  cpu_ceiling.settle(cpu.allocated_bytes, cpu.total_bytes);
  const auto devices = device_memory();
  for (size_t i = 0; i < std::min(devices.size(), kMostDevices); ++i) {
    device_ceilings[i].settle(devices[i].allocated_bytes, devices[i].total_bytes);
  }
}

struct Steps {
  StepBoundary boundary;
  Clock::time_point last = Clock::now();
};

thread_local Steps steps;

}  // namespace

void note_device_tensor(const at::Tensor& tensor) {
  if (!tensor.has_storage() || tensor.is_view() || tensor.storage().use_count() != 1) return;
  thread_debt_bytes += static_cast<int64_t>(tensor.storage().nbytes());
}

void collect_all(Vm& vm, lua_State* L) {
  if (vm.collecting) return;
  collect(vm, L, 2);
  empty_device_caches();
}

void pay_debt(Vm& vm, lua_State* L) {
  if (vm.collecting) return;
  const int64_t debt = thread_debt_bytes;
  thread_debt_bytes = 0;
  if (any_ceiling_passed()) {
    collect(vm, L, 2);
    settle_ceilings();
    return;
  }
  const Collecting collecting(vm);
  lua_gc(L, LUA_GCSTEP, static_cast<int>(std::clamp<int64_t>(debt / kMiB, 8, 400)));
}

void at_step_boundary(Vm& vm, lua_State* L) {
  Steps& own = steps;  // made here at the first boundary, before the clock is read
  const auto start = Clock::now();
  if (!vm.collecting && own.boundary.is_worth(start - own.last)) {
    collect(vm, L, 1);
    own.boundary.settle(Clock::now() - start);
  }
  own.last = Clock::now();
}

int64_t ceiling_bytes() { return cpu_ceiling.bytes(); }
int64_t full_collections() { return collections.load(std::memory_order_relaxed); }

}  // namespace rtrain
