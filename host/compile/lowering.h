// host/compile/lowering.h: what works on rows, as sums and maxima of rows with formulas around
// them.
#pragma once

#include "host/compile/region.h"

namespace rtrain::compile {

// The region without softmax, its backward, moments and dots: what joins the numbers of a row or a
// column is kRowSum, kRowMaximum or kColumnSum. The formulas are those of ATen's kernels
// for CUDA.
// REQUIRES: region.valid().
Region lowered(const Region& region);

}  // namespace rtrain::compile
