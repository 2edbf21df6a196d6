// host/engine/cuda/cuda.h: the engine's access to librtrain_cuda.so, if the host has loaded
// it.
#pragma once

#include <string>

#include "host/engine/cuda/api.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// Sets the functions of librtrain_cuda.so, or null and the reason why it is not loaded. Called
// once, before the engine is opened in any state.
void connect_cuda(const CudaApi* api, const char* reason);

// Null in a process without CUDA.
const CudaApi* cuda_api();
// Why this process has no CUDA.
const std::string& cuda_refusal();
// Throws Error(kEnvironment) with that reason in a process without CUDA.
const CudaApi& need_cuda();

// Returns the device number at this stack index. The callers in torch.cuda have made it from the
// user's argument. Throws Error(kArgument) for a device that this process does not see.
int check_cuda_device(lua_State* L, int index);

}  // namespace rtrain::engine
