// host/engine/cuda/cuda.h: what the engine knows of CUDA: librtrain_cuda.so, where the host has
// brought it.
#pragma once

#include <string>

#include "host/engine/cuda/api.h"
#include "host/lua/lua.h"

namespace rtrain {

// Null in a process without CUDA.
const CudaApi* cuda_api();
// Why it has none.
const std::string& cuda_refusal();
// Throws Error(kEnvironment) with the reason where there is none.
const CudaApi& need_cuda();

// The device's number at this index of the stack, which the callers in torch.cuda have read from
// what the user gave. Throws Error(kArgument) for a device that this process does not see.
int check_cuda_device(lua_State* L, int index);

// Adds the tables of CUDA to the one at the top of the stack. Without CUDA there are no devices,
// and all else throws kEnvironment.
void open_cuda(lua_State* L);

// `cuda_devices`: device_count, current_device, set_device, get_device_properties, mem_get_info,
// synchronize.
void open_cuda_devices(lua_State* L);
// `cuda_graphs`: new, graph_pool_handle, is_current_stream_capturing, without_collector.
void open_cuda_graphs(lua_State* L);
// `cuda_nvtx`: range_push, range_pop, range_start, range_end, mark, range, emit. Without CUDA all
// but the last do nothing.
void open_cuda_nvtx(lua_State* L);
// `cuda_streams`: new, current_stream, default_stream, set_stream, query, synchronize, record,
// native_handle.
void open_cuda_streams(lua_State* L);
// `cuda_events`: new.
void open_cuda_events(lua_State* L);
// `cuda_allocator`: memory_stats, empty_cache, memory_fraction, settings, snapshot, …
void open_cuda_allocator(lua_State* L);
// `cuda_random`: manual_seed, seed, initial_seed, get_rng_state, set_rng_state.
void open_cuda_random(lua_State* L);
// `cuda_memory_snapshot`: record_history, pickled.
void open_cuda_memory_snapshot(lua_State* L);

}  // namespace rtrain
