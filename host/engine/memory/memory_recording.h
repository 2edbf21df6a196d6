// host/engine/memory/memory_recording.h: records which lines of the script allocate memory of
// tensors, for `rtrain profile --memory`.
//
// The CPU allocator reports all of its allocations. Memory of other devices is recorded when a
// tensor becomes a Lua value, and counts as freed once no tensor uses its storage. Older tensors
// and the names of tensors are found by a search through the script's values, which the main thread
// makes at the beginning and at the end, in the next operator that it calls. It collects garbage
// first, so that only tensors still used by the script are counted.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host/lua/lua.h"
#include "host/profile/memory_report.h"

namespace rtrain::engine {

// Set while a recording is active.
inline std::atomic<bool> records_tensors{false};

// Any thread. `live`: bytes of all CPU tensors including this one.
void record_taken(const void* data, size_t bytes, int64_t live);
void record_freed(const void* data, int64_t live);
// Records a tensor that is about to become a value of that Lua state.
void record_tensor(lua_State* L, const at::Tensor& tensor);
// Called by a thread before an operator of that Lua state. Searches the state's values if the
// recording has asked for it.
void look_at_values(lua_State* L);

// Turns the reports of the CPU allocator on or off (allocator.cpp).
void record_allocations(bool wanted);

// Throws kArgument if a recording is already active.
void start_memory_recording();
// Adds a point to the curves of memory over time.
void sample_memory_recording(double seconds);
// Asks the main thread to complete the recording. Returns true once it has.
bool is_memory_recording_closed();
// Ends the recording, even if the main thread has not completed it.
profile::MemoryReport stop_memory_recording();

}  // namespace rtrain::engine
