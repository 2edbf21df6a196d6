// host/engine/cuda/fault.h: what an error of CUDA's runtime means for the process that gets it.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "host/base/error.h"

namespace rtrain::engine {

// Whether the device refuses all further calls of this process after the error, a
// cudaError_t.
bool ends_use_of_device(int cuda_error);

// kOutOfMemory; kEnvironment if this machine's devices cannot be used; kWorkerLost if this process
// has lost its device; kArgument for a call that was refused.
Code code_of_cuda_error(int cuda_error);

// Rewrites LibTorch's text about a lost device ("CUDA error: an illegal memory access was
// encountered" and advice): what happened, on which device ("" if unknown), and what to do.
std::string lost_device_text(std::string_view torch_text, std::string_view device);

}  // namespace rtrain::engine
