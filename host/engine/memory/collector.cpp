#include "host/engine/memory/collector.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>

#include "host/engine/memory/policy.h"

namespace rtrain::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMiB = int64_t{1} << 20;

std::atomic<int64_t> collections{0};
// How many device bytes count as one CPU byte. The smallest device in use determines it.
std::atomic<int64_t> device_weight{device_collection_bytes(0) / kCollectionBytes};
Ceiling cpu_ceiling;
std::array<Ceiling, kMostDevices> device_ceilings;

// Guards against recursion: a finalizer may push tensors or raise.
class Collecting {
 public:
  explicit Collecting(Vm& vm) : vm_(vm) { vm.collecting = true; }
  ~Collecting() { vm_.collecting = false; }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

 private:
  Vm& vm_;
};

// A full collection needs two passes: the first runs finalizers, the second frees what they
// referenced.
void collect(Vm& vm, lua_State* L, int passes) {
  const Collecting collecting(vm);
  for (int i = 0; i < passes; ++i) lua_gc(L, LUA_GCCOLLECT, 0);
  thread_uncollected_bytes = 0;
  collections.fetch_add(1, std::memory_order_relaxed);
}

Ceiling& ceiling_of(const DeviceMemory& device) {
  return device_ceilings.at(static_cast<size_t>(device.index));
}

bool any_ceiling_passed() {
  const DeviceMemory cpu = cpu_memory();
  bool passed = cpu_ceiling.is_passed(cpu.allocated_bytes, cpu.total_bytes);
  int64_t weight = std::numeric_limits<int64_t>::max();
  for (const DeviceMemory& device : device_memory()) {
    weight = std::min(weight, device_collection_bytes(device.total_bytes) / kCollectionBytes);
    device_weight.store(weight, std::memory_order_relaxed);
    passed |= ceiling_of(device).is_passed(device.allocated_bytes, device.total_bytes);
  }
  return passed;
}

void settle_ceilings() {
  const DeviceMemory cpu = cpu_memory();
  cpu_ceiling.settle(cpu.allocated_bytes, cpu.total_bytes);
  for (const DeviceMemory& device : device_memory()) {
    ceiling_of(device).settle(device.allocated_bytes, device.total_bytes);
  }
}

// The current call of this thread in which the allocator may collect garbage.
struct Collectable {
  Vm* vm = nullptr;
  lua_State* L = nullptr;
  std::array<FreeMemoryRule, kMostDevices> rules;
};

thread_local Collectable collectable;

int collect_fully(lua_State* L) {
  collect(*collectable.vm, L, 2);
  return 0;
}

struct Steps {
  StepBoundary boundary;
  Clock::time_point last = Clock::now();
};

thread_local Steps steps;

}  // namespace

void note_device_tensor(const at::Tensor& tensor) {
  if (!tensor.has_storage() || tensor.is_view() || tensor.storage().use_count() != 1) return;
  thread_uncollected_bytes += static_cast<int64_t>(tensor.storage().nbytes()) /
                              device_weight.load(std::memory_order_relaxed);
}

bool collect_garbage(Vm& vm, lua_State* L) {
  if (vm.collecting || is_capturing()) return false;
  collect(vm, L, 2);
  return true;
}

bool collect_all(Vm& vm, lua_State* L) {
  if (!collect_garbage(vm, L)) return false;
  empty_device_caches();
  return true;
}

CollectableCall::CollectableCall(Vm& vm, lua_State* L)
    : vm_before_(collectable.vm), lua_before_(collectable.L) {
  collectable.vm = &vm;
  collectable.L = L;
}

CollectableCall::~CollectableCall() {
  collectable.vm = vm_before_;
  collectable.L = lua_before_;
}

bool free_device_memory() {
  if (collectable.vm == nullptr || collectable.vm->collecting || is_capturing()) return false;
  const auto memory = current_device_memory();
  if (!memory) return false;
  FreeMemoryRule& rule = collectable.rules.at(static_cast<size_t>(memory->index));
  if (!rule.is_worth(memory->allocated_bytes, memory->total_bytes, memory->taken_bytes)) {
    return false;
  }
  // Errors of finalizers must not propagate through the allocator.
  if (lua_cpcall(collectable.L, &collect_fully, nullptr) != 0) lua_pop(collectable.L, 1);
  return true;
}

void trigger_collection(Vm& vm, lua_State* L) {
  if (vm.collecting) return;
  const int64_t bytes = thread_uncollected_bytes;
  thread_uncollected_bytes = 0;
  if (is_capturing()) return;
  if (any_ceiling_passed()) {
    collect(vm, L, 2);
    settle_ceilings();
    return;
  }
  const Collecting collecting(vm);
  lua_gc(L, LUA_GCSTEP, static_cast<int>(std::clamp<int64_t>(bytes / kMiB, 8, 400)));
}

void at_step_boundary(Vm& vm, lua_State* L) {
  Steps& own = steps;  // created at the first boundary, before the clock is read
  const auto start = Clock::now();
  if (!vm.collecting && !is_capturing() && own.boundary.is_worth(start - own.last)) {
    collect(vm, L, 1);
    own.boundary.settle(Clock::now() - start);
  }
  own.last = Clock::now();
}

int64_t ceiling_bytes() { return cpu_ceiling.bytes(); }
int64_t full_collections() { return collections.load(std::memory_order_relaxed); }

}  // namespace rtrain::engine
