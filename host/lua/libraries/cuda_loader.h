// host/lua/libraries/cuda_loader.h: brings LibTorch's CUDA library and librtrain_cuda.so into a
// process that computes, where a driver answers.
//
// LibTorch decides at the first question about CUDA whether there is any, for the whole process:
// its library has to be there before. RTRAIN_CUDA_MODULE=path loads librtrain_cuda.so from a file,
// for debugging.
#pragma once

#include <string>

#include "host/machine/libraries/cuda_support.h"

namespace rtrain::lua {

// What this process can do, decided once. Looks at files and asks the driver; loads nothing of
// LibTorch.
const machine::CudaSupport& cuda_support();

// Brings LibTorch's CUDA library, its symbols global. False where cuda_support() shows no device,
// or the library does not load: usable_cuda() then says why.
bool load_libtorch_cuda();

// cuda_support(), or no device and the dynamic linker's message where the library did not load.
machine::CudaSupport usable_cuda();

// The CudaApi of librtrain_cuda.so, for the engine. Throws Error(kEnvironment).
const void* load_cuda_api();

}  // namespace rtrain::lua
