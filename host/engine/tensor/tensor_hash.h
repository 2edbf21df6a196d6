// host/engine/tensor/tensor_hash.h: hashes of what tensors hold, which ranks compare.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace rtrain::engine {

// Changes with every single bit of the tensor's elements. XXH3-64 on the CPU, with LibTorch's
// threads; elsewhere a sum of 32-bit words with odd weights, computed on the device. 0 for a tensor
// that is not strided. Equal tensors have equal hashes on devices of the same type.
uint64_t hash_of(const at::Tensor& tensor);

}  // namespace rtrain::engine
