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

// Adds the table `cuda_devices` to the one at the top of the stack: device_count, current_device,
// set_device, get_device_properties, mem_get_info, synchronize. Without CUDA there are no devices,
// and the others throw kEnvironment.
void open_cuda(lua_State* L);

}  // namespace rtrain
