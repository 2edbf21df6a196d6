#include "tests/bench/ddp_floor/optimizer.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

namespace rtrain::floor {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors grads_of(const Tensors& params) {
  Tensors out;
  for (const at::Tensor& param : params) out.push_back(param.grad());
  return out;
}

class Sgd final : public Optimizer {
 public:
  Sgd(Tensors params, double lr) : params_(std::move(params)), lr_(lr) {}

  void step() override {
    const at::NoGradGuard no_grad;
    at::_fused_sgd_(params_, grads_of(params_), {}, /*weight_decay=*/0, /*momentum=*/0, lr_,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                    /*is_first_step=*/false);
  }

 private:
  Tensors params_;
  double lr_;
};

constexpr int64_t kSmall = 8192, kPieceOfThread = 32768;

Tensors pieces_of(const at::Tensor& tensor) {
  return tensor.view(-1).split(kPieceOfThread * at::get_num_threads());
}

// Returns views of one tensor with the shapes of the others.
Tensors views_like(const at::Tensor& flat, const Tensors& others) {
  Tensors out;
  int64_t begin = 0;
  for (const at::Tensor& each : others) {
    out.push_back(flat.narrow(0, begin, each.numel()).view(each.sizes()));
    begin += each.numel();
  }
  return out;
}

class Adadelta final : public Optimizer {
 public:
  Adadelta(const Tensors& params, double lr) : lr_(lr) {
    const at::NoGradGuard no_grad;
    Tensors flat;
    for (const at::Tensor& param : params) {
      if (param.numel() <= kSmall) {
        small_.push_back(param);
        flat.push_back(param.detach().reshape(-1));
      } else {
        large_.push_back(
            {param, pieces_of(at::zeros_like(param)), pieces_of(at::zeros_like(param))});
      }
    }
    small_param_ = at::cat(flat);
    small_grad_ = at::zeros_like(small_param_);
    small_square_ = at::zeros_like(small_param_);
    small_delta_ = at::zeros_like(small_param_);
    param_views_ = views_like(small_param_, small_);
    grad_views_ = views_like(small_grad_, small_);
  }

  void step() override {
    const at::NoGradGuard no_grad;
    at::_foreach_copy_(param_views_, small_);
    at::_foreach_copy_(grad_views_, grads_of(small_));
    update(small_param_, small_grad_, small_square_, small_delta_);
    at::_foreach_copy_(small_, param_views_);
    for (Large& each : large_) {
      const Tensors params = pieces_of(each.param), grads = pieces_of(each.param.grad());
      for (size_t i = 0; i < params.size(); ++i) {
        update(params[i], grads[i], each.square[i], each.delta[i]);
      }
    }
  }

 private:
  struct Large {
    at::Tensor param;
    Tensors square, delta;
  };

  void update(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& square,
              const at::Tensor& acc_delta) const {
    constexpr double kRho = 0.9, kEps = 1e-6;
    square.mul_(kRho).addcmul_(grad, grad, 1 - kRho);
    const at::Tensor deviation = square.add(kEps).sqrt_();
    const at::Tensor delta = acc_delta.add(kEps).sqrt_().div_(deviation).mul_(grad);
    acc_delta.mul_(kRho).addcmul_(delta, delta, 1 - kRho);
    param.add_(delta, -lr_);
  }

  double lr_;
  std::vector<Large> large_;
  Tensors small_, param_views_, grad_views_;
  at::Tensor small_param_, small_grad_, small_square_, small_delta_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<at::Tensor> params, double lr) {
  return std::make_unique<Sgd>(std::move(params), lr);
}

std::unique_ptr<Optimizer> make_adadelta(std::vector<at::Tensor> params, double lr) {
  return std::make_unique<Adadelta>(params, lr);
}

}  // namespace rtrain::floor
