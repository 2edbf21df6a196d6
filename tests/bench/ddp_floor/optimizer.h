// tests/bench/ddp_floor/optimizer.h: the two optimizers of ../train.lua, with the operator calls
// that rtrain makes for them.
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

// One fused kernel.
std::unique_ptr<Optimizer> make_sgd(std::vector<at::Tensor> params, double lr);
// Over pieces of large parameters that stay in the cache, and small ones gathered into one.
std::unique_ptr<Optimizer> make_adadelta(std::vector<at::Tensor> params, double lr);

}  // namespace rtrain::floor
