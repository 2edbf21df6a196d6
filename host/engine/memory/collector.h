// host/engine/memory/collector.h: makes Lua's garbage collector account for tensor memory.
//
// Lua counts a tensor as eight bytes, so garbage tensors would accumulate. Each tensor pushed to
// Lua triggers collection for the bytes that its thread has allocated since the last time:
// collector steps, and a full collection once a device's live bytes exceed their ceiling
// (policy.h). A training step ends with a full collection if that costs little, so that large
// models need no more memory than with reference counting. Nothing is collected inside the CPU
// allocator or while the thread captures a CUDA graph.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "host/engine/memory/allocator.h"
#include "host/engine/runtime/vm.h"

namespace rtrain::engine {

// Bytes that a thread allocates before it triggers garbage collection.
inline constexpr int64_t kCollectionBytes = int64_t{16} << 20;
void trigger_collection(Vm& vm, lua_State* L);

// Counts the bytes of a tensor on another device, which that device's allocator does not count. A
// byte weighs less the larger the device is (policy.h).
void note_device_tensor(const at::Tensor& tensor);

// Called with a tensor just before it is pushed.
inline void before_push(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) [[unlikely]]
    note_device_tensor(tensor);
}

// Called after a tensor was pushed.
inline void after_push(Vm& vm, lua_State* L) {
  if (thread_uncollected_bytes >= kCollectionBytes) trigger_collection(vm, L);
}

// Frees everything that Lua's garbage references. Returns false if nothing may be freed now.
bool collect_garbage(Vm& vm, lua_State* L);

// Frees everything that can be freed, before an operation that ran out of memory is retried.
// Returns false if nothing may be freed now.
bool collect_all(Vm& vm, lua_State* L);

// For the duration of a call that must not be retried (backward(), an operator that writes to its
// arguments): allows LibTorch's CUDA allocator to trigger garbage collection before it allocates
// more from a nearly full device. This happens inside an allocation, with that device's lock held,
// only on this thread.
class CollectableCall {
 public:
  CollectableCall(Vm& vm, lua_State* L);
  ~CollectableCall();
  CollectableCall(const CollectableCall&) = delete;
  CollectableCall& operator=(const CollectableCall&) = delete;

 private:
  Vm* vm_before_;
  lua_State* lua_before_;
};

// The callback of LibTorch's CUDA allocator for that. Returns whether memory may have become free.
bool free_device_memory();

// Called after a training step. Collects if that is worth its time.
void at_step_boundary(Vm& vm, lua_State* L);

int64_t ceiling_bytes();
int64_t full_collections();

}  // namespace rtrain::engine
