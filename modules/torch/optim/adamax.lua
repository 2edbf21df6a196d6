-- torch/optim/adamax.lua: Adam with the infinity norm.

local Elementwise = require('torch.optim.elementwise').Elementwise
local Rates = require 'torch.optim.rates'
local options = require 'torch.optim.options'
local torch = require 'torch'

---Adamax (Kingma and Ba 2015, arXiv 1412.6980). With the gradient g: m = β₁·m + (1 - β₁)·g,
---u = max(β₂·u, |g| + ε), θ = θ - lr / (1 - β₁^t)·m / u.
---
---Options: lr = 2e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = 0 (added to g), foreach, {maximize,
---differentiable, capturable}.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor({1}, {requires_grad = true})
---local optimizer = torch.optim.Adamax({x}, {lr = 0.1})
---torch.sum(x * 3):backward()
---optimizer:step()
---assert(math.abs(x:item() - 0.9) < 1e-6)  -- the first step is lr · sign(g)
---```
---@class optim.Adamax: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.Adamax
local Adamax = Elementwise:extend('Adamax')
Adamax._updates_on_host = true
Adamax._can_be_captured = true

Adamax._options = options.new('Adamax', {
  options.with(options.lr, 2e-3), options.betas, options.eps, options.weight_decay, options.foreach, options.maximize,
  options.differentiable, options.capturable,
})

local NAMES = {scalars = {'step'}, tensors = {'exp_avg', 'exp_inf'}}

function Adamax:_names() return NAMES end

function Adamax:_start(state, _, param)
  self:start_step(state, param)
  state.exp_avg = state.exp_avg or torch.zeros_like(param)
  state.exp_inf = state.exp_inf or torch.zeros_like(param)
end

function Adamax:_advance(group, unit)
  if not self._rates then return {rate = group.lr / (1 - group.betas[1] ^ self.count_step(unit))} end
  Elementwise._advance(self, group, unit)
  local step = unit.first.step
  local correction = torch.pow(group.betas[1], step):neg_():add_(1)
  return {rate = self:_lr_of(group, step.device) / correction}
end

function Adamax:_update_block(group, block, coefficients)
  local grad, is_new = self.gradient(group, block)
  block.exp_avg:lerp_(grad, 1 - group.betas[1])
  local size = grad:abs():add_(group.eps)
  block.exp_inf:mul_(group.betas[2]):clamp_min_(size)
  if self._rates then
    Rates.descend(block.param, block.exp_avg:div(block.exp_inf), coefficients.rate)
  else
    block.param:addcdiv_(block.exp_avg, block.exp_inf, {value = -coefficients.rate})
  end
  self.release(size, is_new and grad)
end

return {Adamax = Adamax}
