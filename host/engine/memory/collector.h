// host/engine/memory/collector.h: makes Lua's collector see tensor memory.
//
// Lua counts a tensor as eight bytes, so garbage tensors would pile up. Every tensor that enters
// Lua triggers garbage collection for the bytes that its thread allocated since the last one: with
// collector steps, and with a full collection once a device's live bytes pass their ceiling
// (policy.h). A step of training ends with a full collection where that costs next to nothing, so
// that large models need no more memory than with reference counts. Nothing is collected inside the
// CPU's allocator, and nothing while the thread records a CUDA graph.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "host/engine/memory/allocator.h"
#include "host/engine/runtime/vm.h"

namespace rtrain {

// What a thread allocates before it triggers garbage collection.
inline constexpr int64_t kCollectionBytes = int64_t{16} << 20;
void trigger_collection(Vm& vm, lua_State* L);

// Counts the bytes of a tensor on another device, which that device's allocator does not:
// the larger the device, the less a byte of it weighs (policy.h).
void note_device_tensor(const at::Tensor& tensor);

// Called with a tensor that is about to be pushed.
inline void before_push(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) [[unlikely]]
    note_device_tensor(tensor);
}

// Called after a tensor was pushed.
inline void after_push(Vm& vm, lua_State* L) {
  if (thread_uncollected_bytes >= kCollectionBytes) trigger_collection(vm, L);
}

// Frees all that Lua's garbage holds. False where nothing may be freed now.
bool collect_garbage(Vm& vm, lua_State* L);

// Frees everything that can be freed, before an operation that ran out of memory is tried again.
// False where nothing may be freed now.
bool collect_all(Vm& vm, lua_State* L);

// For the time of a call that must not be tried again (backward(), an operator that writes into its
// arguments): LibTorch's CUDA allocator may have garbage collected before it takes more memory
// from a nearly full device. It does so inside of an allocation, with that device's lock held, and
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

// What LibTorch's CUDA allocator calls then. Whether memory may have become free.
bool free_device_memory();

// A step of training ended. Collects where that is worth its time.
void at_step_boundary(Vm& vm, lua_State* L);

int64_t ceiling_bytes();
int64_t full_collections();

}  // namespace rtrain
