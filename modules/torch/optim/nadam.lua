-- torch/optim/nadam.lua: Adam with Nesterov momentum.

local Elementwise = require('torch.optim.elementwise').Elementwise
local Plan = require 'torch.optim.plan'
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---NAdam (Dozat 2016, "Incorporating Nesterov Momentum into Adam"). Adam's moments m and v of the gradient g; with
---μ(t) = β₁·(1 - 0.5·0.96^(t·ψ)), ψ the momentum_decay, and M(t) the product of the μ up to t:
---θ = θ - lr·((1 - μ(t))·g / (1 - M(t)) + μ(t+1)·m / (1 - M(t)·μ(t+1))) / (√(v / (1 - β₂^t)) + ε).
---
---Options: lr = 2e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3,
---decoupled_weight_decay = false (true: as in AdamW), {foreach, maximize, capturable, differentiable}.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(2, 1)
---local optimizer = torch.optim.NAdam(layer:parameters(), {lr = 0.01, decoupled_weight_decay = true})
---layer(torch.ones(1, 2)):sum():backward()
---optimizer:step()
---assert(optimizer.state[layer.bias].mu_product:item() < 0.9)
---```
---@class optim.NAdam: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.NAdam
local NAdam = Elementwise:extend('NAdam')
NAdam._updates_on_host = true

NAdam._options = options.new('NAdam', {
  options.with(options.lr, 2e-3), options.betas, options.eps, options.weight_decay,
  {'momentum_decay', 4e-3, options.not_negative, 'momentum_decay value'},
  {'decoupled_weight_decay', false, options.boolean},
  options.foreach, options.maximize, options.not_capturable, options.differentiable,
}, {'lr', 'betas', 'eps', 'weight_decay', 'momentum_decay', 'decoupled_weight_decay', 'maximize', 'foreach', 'capturable',
    'differentiable'})

local NAMES = {scalars = {'step', 'mu_product'}, tensors = {'exp_avg', 'exp_avg_sq'}}

function NAdam:_names() return NAMES end

function NAdam:_start(state, _, param)
  state.step = state.step or Plan.scalar(0)
  if type(state.mu_product) == 'number' then state.mu_product = Plan.scalar(state.mu_product) end
  state.mu_product = state.mu_product or Plan.scalar(1)
  state.exp_avg = state.exp_avg or torch.zeros_like(param)
  state.exp_avg_sq = state.exp_avg_sq or torch.zeros_like(param)
end

function NAdam:_advance(group, unit)
  local step = self.count_step(unit)
  local beta1, beta2 = group.betas[1], group.betas[2]
  local mu = beta1 * (1 - 0.5 * 0.96 ^ (step * group.momentum_decay))
  local mu_next = beta1 * (1 - 0.5 * 0.96 ^ ((step + 1) * group.momentum_decay))
  unit.scalars.mu_product:mul_(mu)
  local product, lr = unit.first.mu_product:item(), Rates.number(group.lr)
  return {
    bias_correction2 = 1 - beta2 ^ step,
    of_gradient = -lr * (1 - mu) / (1 - product),
    of_average = -lr * mu_next / (1 - product * mu_next),
  }
end

function NAdam:_update_block(group, block, coefficients)
  local grad, is_new = self.gradient(group, block)
  local beta1, beta2 = group.betas[1], group.betas[2]
  block.exp_avg:lerp_(grad, 1 - beta1)
  block.exp_avg_sq:mul_(beta2):addcmul_(grad, grad, {value = 1 - beta2})
  local denominator = block.exp_avg_sq:div(coefficients.bias_correction2):sqrt_():add_(group.eps)
  block.param:addcdiv_(grad, denominator, {value = coefficients.of_gradient})
  block.param:addcdiv_(block.exp_avg, denominator, {value = coefficients.of_average})
  self.release(denominator, is_new and grad)
end

return {NAdam = NAdam}
