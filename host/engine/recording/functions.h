// host/engine/recording/functions.h: the functions that regions call, with the bits of the kernels
// that this process's LibTorch has chosen: from MKL, from its own vectors, from the C library.
#pragma once

#include <cstdint>

#include "host/compile/function.h"

namespace rtrain::engine {

// Functions that this LibTorch or this processor does not have are missing. `is_fast`: those of
// fast_math, which are faster and whose last digits differ.
const compile::Functions& functions(bool is_fast);

// LibTorch's kernels divide more elements than these among threads.
inline constexpr int64_t kGrain = 32768;

}  // namespace rtrain::engine
