// tests/bench/ddp_floor/optimizer.h: the two optimizers of ../train.lua, with the same operator
// calls as in rtrain.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace rtrain::floor {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void step() = 0;
};

// Uses one fused kernel.
std::unique_ptr<Optimizer> make_sgd(std::vector<at::Tensor> params, double lr);
// Works on pieces of large parameters that fit in the cache, and on the small parameters gathered
// into one tensor.
std::unique_ptr<Optimizer> make_adadelta(std::vector<at::Tensor> params, double lr);

}  // namespace rtrain::floor
