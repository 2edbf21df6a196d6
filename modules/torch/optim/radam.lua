-- torch/optim/radam.lua: rectified Adam.

local Elementwise = require('torch.optim.elementwise').Elementwise
local Plan = require 'torch.optim.plan'
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---RAdam (Liu et al. 2020, arXiv 1908.03265). Adam's moments m and v; ρ∞ = 2 / (1 - β₂) - 1 and
---ρ(t) = ρ∞ - 2·t·β₂^t / (1 - β₂^t). With m̂ = m / (1 - β₁^t): while ρ(t) ≤ 5 a step is lr·m̂, afterwards
---lr·m̂·r·√(1 - β₂^t) / (√v + ε), r = √((ρ(t) - 4)(ρ(t) - 2)·ρ∞ / ((ρ∞ - 4)(ρ∞ - 2)·ρ(t))).
---
---Options: lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = 0, decoupled_weight_decay = false (true: as in
---AdamW), {foreach, maximize, capturable, differentiable}.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor({1}, {requires_grad = true})
---local optimizer = torch.optim.RAdam({x}, {lr = 0.1})
---torch.sum(x * 3):backward()
---optimizer:step()
---assert(math.abs(x:item() - 0.7) < 1e-6)  -- at first a step is lr · mean gradient
---```
---@class optim.RAdam: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.RAdam
local RAdam = Elementwise:extend('RAdam')
RAdam._updates_on_host = true

RAdam._options = options.new('RAdam', {
  options.lr, options.betas, options.eps, options.weight_decay, {'decoupled_weight_decay', false, options.boolean},
  options.foreach, options.maximize, options.not_capturable, options.differentiable,
}, {'lr', 'betas', 'eps', 'weight_decay', 'maximize', 'foreach', 'capturable', 'decoupled_weight_decay', 'differentiable'})

local NAMES = {scalars = {'step'}, tensors = {'exp_avg', 'exp_avg_sq'}}

function RAdam:_names() return NAMES end

function RAdam:_start(state, _, param)
  state.step = state.step or Plan.scalar(0)
  state.exp_avg = state.exp_avg or torch.zeros_like(param)
  state.exp_avg_sq = state.exp_avg_sq or torch.zeros_like(param)
end

function RAdam:_advance(group, unit)
  local step = self.count_step(unit)
  local beta1, beta2 = group.betas[1], group.betas[2]
  local bias_correction1, bias_correction2 = 1 - beta1 ^ step, 1 - beta2 ^ step
  local longest = 2 / (1 - beta2) - 1
  local length = longest - 2 * step * beta2 ^ step / bias_correction2
  local out = {bias_correction1 = bias_correction1}
  if length > 5 then
    out.rectification = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    out.root = math.sqrt(bias_correction2)
  end
  return out
end

function RAdam:_update_block(group, block, coefficients)
  local grad, is_new = self.gradient(group, block)
  local beta1, beta2 = group.betas[1], group.betas[2]
  block.exp_avg:lerp_(grad, 1 - beta1)
  block.exp_avg_sq:mul_(beta2):addcmul_(grad, grad, {value = 1 - beta2})
  local update, adaptive = block.exp_avg:div(coefficients.bias_correction1):mul_(Rates.number(group.lr)), nil
  if coefficients.rectification then
    adaptive = block.exp_avg_sq:sqrt():add_(group.eps):reciprocal_():mul_(coefficients.root)
    update:mul_(adaptive):mul_(coefficients.rectification)
  end
  block.param:sub_(update)
  self.release(update, adaptive, is_new and grad)
end

return {RAdam = RAdam}
