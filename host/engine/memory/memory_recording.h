// host/engine/memory/memory_recording.h: records what takes the memory of tensors, for `rtrain
// profile --memory`: each allocation with the line of the script that called for it.
//
// The CPU's allocator tells of all its allocations. Memory of other devices is recorded where a
// tensor becomes a Lua value, and is known as freed once no tensor has its storage. What was there
// before, and the names of tensors, are found by a search through the script's values: the main
// thread makes it at the next operator that it calls, at the beginning and at the end. It collects
// its garbage before: what is counted then is what the script still has.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host/lua/lua.h"
#include "host/profile/memory_report.h"

namespace rtrain {

// While somebody records.
inline std::atomic<bool> records_tensors{false};

// Any thread. `live`: what all CPU tensors have with that.
void record_taken(const void* data, size_t bytes, int64_t live);
void record_freed(const void* data, int64_t live);
// A tensor that is about to become a value of that state.
void record_tensor(lua_State* L, const at::Tensor& tensor);
// The calling thread is about to call an operator for that state, and looks at its values where
// that is wanted.
void look_at_values(lua_State* L);

// Whether the CPU's allocator tells of its allocations (allocator.cpp).
void record_allocations(bool wanted);

// Throws kArgument where one is under way.
void start_memory_recording();
// A point of the curves.
void sample_memory_recording(double seconds);
// Asks the main thread to end the recording; true once it has.
bool is_memory_recording_closed();
// Ends it in any case.
MemoryReport stop_memory_recording();

}  // namespace rtrain
