// host/engine/runtime/open.h: the parts that together make the module table `torch._C`.
//
// Each open_… function adds its C functions to the table at the top of the stack; it is called once
// for each Lua state.
#pragma once

#include "host/api/host_api.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// The functions of the executable, as passed when the engine was opened in this state.
const api::HostApi& host(lua_State* L);

void open_tensor(lua_State* L);        // Tensor, is_tensor
void open_ops(lua_State* L);           // op, op_names
void open_constructors(lua_State* L);  // tensor, from_bytes, scalar
void open_autograd(lua_State* L);      // backward, grad, no_grad, enable_grad, inference_mode, …
void open_autocast(lua_State* L);      // is_autocast_enabled, get_autocast_dtype, …
void open_random(lua_State* L);        // manual_seed, generator, get_rng_state, …
void open_memory(lua_State* L);        // memory_stats, scope
void open_settings(lua_State* L);      // get_num_threads, set_default_dtype, cuda_is_available, …
void open_backends(lua_State* L);      // backends: switches of cuBLAS, cuDNN and attention
void open_warnings(lua_State* L);      // adds nothing: passes LibTorch's warnings to the host
void open_files(lua_State* L);         // save, async_save, load, _write_file
void open_safetensors(lua_State* L);   // save_safetensors, load_safetensors, …
void open_serialize(lua_State* L);     // unpack_tensor, unpack_storage
void open_dist(lua_State* L);          // dist
void open_data(lua_State* L);          // data
void open_arrays(lua_State* L);        // read_idx; adds read_npy, read_npz to data
void open_images(lua_State* L);        // adds decode_images, encode_jpeg, … to data
void open_batches(lua_State* L);       // adds gather_images, draw_samples, copy_rows to data
void open_arrow_columns(lua_State* L);  // adds from_arrow, to_arrow to data
void open_channels(lua_State* L);       // adds Channel, enter_loader, raise to data
void open_packed_values(lua_State* L);  // adds pack, unpack, … to data
void open_profiler(lua_State* L);       // profiler
void open_recording(lua_State* L);      // recording

// Adds _copy_with_storage(tensor, copies).
void open_storage_copies(lua_State* L);
void open_storages(lua_State* L);     // _storage_nbytes, _storage_ptr, _storage_resize
void open_tensor_hash(lua_State* L);  // _hash_tensors

}  // namespace rtrain::engine
