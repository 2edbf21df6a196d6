// host/lua/libraries/cuda_loader.h: loads LibTorch's CUDA library and librtrain_cuda.so into a
// process that computes, if there is a CUDA driver that works.
//
// At the first question about CUDA, LibTorch decides for the whole process whether there is any, so
// its CUDA library must be loaded before. RTRAIN_CUDA_MODULE=path loads librtrain_cuda.so from a
// file, for debugging.
#pragma once

#include <string>

#include "host/machine/libraries/cuda_support.h"

namespace rtrain::lua {

// Says whether this process can use CUDA, decided once. Looks at files and asks the driver; loads
// nothing of LibTorch.
const machine::CudaSupport& cuda_support();

// Loads LibTorch's CUDA library with global symbols. Returns false where cuda_support() shows no
// device, or the library does not load: usable_cuda() then says why.
bool load_libtorch_cuda();

// Returns cuda_support(); if the library did not load: no device and the dynamic linker's message.
machine::CudaSupport usable_cuda();

// Returns the CudaApi of librtrain_cuda.so, for the engine. Throws Error(kEnvironment).
const void* load_cuda_api();

}  // namespace rtrain::lua
