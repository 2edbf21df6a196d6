// host/engine/torch_cuda/allocator_settings.h: what the environment says about LibTorch's CUDA
// allocator.
#pragma once

namespace rtrain {

// Throws Error(kConfig) that names the variable and its value where LibTorch refuses
// PYTORCH_ALLOC_CONF (or PYTORCH_CUDA_ALLOC_CONF, its older name); LibTorch itself would say so at
// the first tensor only, and without the variable. For a process that has CUDA.
void check_allocator_settings();

}  // namespace rtrain
