// host/engine/distributed/shm/reduction.h: reduces the elements of several ranks: numbers are added
// along the tree of host/base/sum_tree.h over the ranks, everything else is combined in rank order.
// The result has the same bits on whichever rank and processor it is computed.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace rtrain::engine {

struct Reduction {
  c10d::ReduceOp::RedOpType op = c10d::ReduceOp::SUM;
  c10::ScalarType dtype = c10::kFloat;

  size_t element_bytes() const { return c10::elementSize(dtype); }
};

// Throws Error(kArgument) for operations that the backend does not support: bitwise ones on
// floating-point numbers, the mean of integers, min and max of complex numbers.
void check_reduction(const Reduction& reduction);

// out[i] = the reduction of inputs[0][i] … inputs[num - 1][i]. `out` may be one of the inputs.
// float16 and bfloat16 are summed as float32 and rounded once. A NaN wins, also in MIN and MAX.
void reduce(const Reduction& reduction, std::byte* out, const std::byte* const* inputs, int num,
            size_t count);

}  // namespace rtrain::engine
