// host/engine/cuda/cuda.h: what the engine knows of CUDA: librtrain_cuda.so, where the host has
// brought it.
#pragma once

#include <string>

#include "host/engine/cuda/api.h"
#include "host/lua/lua.h"

namespace rtrain {

// The functions of librtrain_cuda.so, or null and the reason why there are none. Called once,
// before the engine is opened in any state.
void connect_cuda(const CudaApi* api, const char* reason);

// Null in a process without CUDA.
const CudaApi* cuda_api();
// Why it has none.
const std::string& cuda_refusal();
// Throws Error(kEnvironment) with the reason where there is none.
const CudaApi& need_cuda();

// The device's number at this index of the stack, which the callers in torch.cuda have read from
// what the user gave. Throws Error(kArgument) for a device that this process does not see.
int check_cuda_device(lua_State* L, int index);

}  // namespace rtrain
