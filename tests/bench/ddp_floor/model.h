// tests/bench/ddp_floor/model.h: the two models of ../train.lua.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace rtrain::floor {

struct Model {
  std::vector<at::Tensor> params;  // in the order of Module:parameters()
  std::function<at::Tensor(const at::Tensor&)> forward;
};

// Draws the initial values from the default generator, as nn.Conv2d and nn.Linear do.
Model make_convnet();
Model make_mlp();

}  // namespace rtrain::floor
