// host/engine/data/sample_draws.h: random numbers for a whole batch, equal to those that operators
// would draw sample by sample.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

namespace rtrain::engine {

// Returns float64 (samples, limits). Row i has the numbers of sample i, one per limit: for limit 0
// the result of rand(1), in [0, 1); for k > 0 the result of randint(0, k, 1).
//
// With a generator all samples draw from it, one after the other. With seeds each sample has its
// own generator. Throws Error(kArgument) for a negative limit, and for seeds that are not int64
// (samples).
at::Tensor draw_samples(c10::ArrayRef<int64_t> limits, int64_t count, at::Generator generator);
at::Tensor draw_samples(c10::ArrayRef<int64_t> limits, const at::Tensor& seeds);

}  // namespace rtrain::engine
