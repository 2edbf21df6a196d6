// host/engine/data/sample_draws.h: the random numbers of a whole batch of samples, the very ones
// that drawing them sample by sample with operators gives.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

namespace rtrain {

// Row i has the numbers of sample i, one for each limit: 0 asks for what rand(1) gives, a number in
// [0, 1), k > 0 for randint(0, k, 1). float64 (samples, limits).
//
// With a generator all samples draw from it, one after the other; with seeds each sample has a
// generator of its own. Throws Error(kArgument) for a limit below 0, and for seeds that are not
// int64 (samples).
at::Tensor draw_samples(c10::ArrayRef<int64_t> limits, int64_t count, at::Generator generator);
at::Tensor draw_samples(c10::ArrayRef<int64_t> limits, const at::Tensor& seeds);

}  // namespace rtrain
