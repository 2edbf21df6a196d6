#include "tests/bench/ddp_floor/model.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <cmath>

namespace rtrain::floor {
namespace {

// Adds a weight and its bias.
void add_layer(std::vector<at::Tensor>& params, at::IntArrayRef shape) {
  at::Tensor weight = at::empty(shape), bias = at::empty({shape[0]});
  const double fan_in = static_cast<double>(weight.numel() / shape[0]);
  const double a = std::sqrt(5.0);
  const double deviation = std::sqrt(2 / (1 + a * a)) / std::sqrt(fan_in);
  const double bound = std::sqrt(3.0) * deviation;
  weight.uniform_(-bound, bound);
  bias.uniform_(-1 / std::sqrt(fan_in), 1 / std::sqrt(fan_in));
  params.push_back(weight.set_requires_grad(true));
  params.push_back(bias.set_requires_grad(true));
}

}  // namespace

Model make_convnet() {
  std::vector<at::Tensor> p;
  add_layer(p, {32, 1, 3, 3});
  add_layer(p, {64, 32, 3, 3});
  add_layer(p, {128, 9216});
  add_layer(p, {10, 128});
  return {p, [p](const at::Tensor& images) {
            at::Tensor x = at::relu(at::conv2d(images, p[0], p[1]));
            x = at::relu(at::conv2d(x, p[2], p[3]));
            x = at::dropout(at::max_pool2d(x, {2, 2}), 0.25, true);
            x = at::relu(at::linear(x.flatten(1), p[4], p[5]));
            return at::linear(at::dropout(x, 0.5, true), p[6], p[7]);
          }};
}

Model make_mlp() {
  std::vector<at::Tensor> p;
  add_layer(p, {512, 784});
  add_layer(p, {512, 512});
  add_layer(p, {10, 512});
  return {p, [p](const at::Tensor& images) {
            at::Tensor x = at::relu(at::linear(images.flatten(1), p[0], p[1]));
            x = at::relu(at::linear(x, p[2], p[3]));
            return at::linear(x, p[4], p[5]);
          }};
}

}  // namespace rtrain::floor
