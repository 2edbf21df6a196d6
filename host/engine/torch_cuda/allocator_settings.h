// host/engine/torch_cuda/allocator_settings.h: checks the environment's settings of LibTorch's CUDA
// allocator.
#pragma once

namespace rtrain::engine {

// Throws Error(kConfig), with variable and value, if LibTorch refuses PYTORCH_ALLOC_CONF (or its
// older name PYTORCH_CUDA_ALLOC_CONF). LibTorch itself would only report it at the first tensor,
// without the variable's name. Call it in a process with CUDA.
void check_allocator_settings();

}  // namespace rtrain::engine
