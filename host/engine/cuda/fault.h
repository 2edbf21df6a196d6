// host/engine/cuda/fault.h: what an error of CUDA's runtime means for the process that gets it.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "host/base/error.h"

namespace rtrain {

// After some errors the device refuses everything that this process asks: the numbers are
// cudaError_t's.
bool ends_use_of_device(int cuda_error);

// kOutOfMemory, kEnvironment for a machine whose devices cannot be used, kWorkerLost for a device
// that this process has lost; kArgument for a call that was refused.
Code code_of_cuda_error(int cuda_error);

// LibTorch's text about a lost device ("CUDA error: an illegal memory access was encountered" and
// advice), in our words: what it is, on which device ("" if unknown), what to do.
std::string lost_device_text(std::string_view torch_text, std::string_view device);

}  // namespace rtrain
