// host/engine/torch_cuda/torch_cuda.h: the tables of this folder in `torch._C`.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::engine {

// Adds all tables below to the table at the top of the stack. Without CUDA there are no devices,
// and the other functions throw kEnvironment.
void open_cuda(lua_State* L);

// `cuda_devices`: device_count, current_device, set_device, get_device_properties, mem_get_info,
// synchronize.
void open_cuda_devices(lua_State* L);
// `cuda_graphs`: new, graph_pool_handle, is_current_stream_capturing, without_collector.
void open_cuda_graphs(lua_State* L);
// `cuda_nvtx`: range_push, range_pop, range_start, range_end, mark, range, emit. Without CUDA all
// except emit do nothing.
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

}  // namespace rtrain::engine
