-- torch/optim/rmsprop.lua: RMSprop.

local Elementwise = require('torch.optim.elementwise').Elementwise
local Rates = require 'torch.optim.rates'
local options = require 'torch.optim.options'
local torch = require 'torch'

---RMSprop (Hinton 2012, lecture 6e; centered: Graves 2013, arXiv 1308.0850). With the gradient g:
---v = α·v + (1 - α)·g², a = √v + ε, θ = θ - lr·g / a; `centered`: a = √(v - m²) + ε with the mean m of g;
---with `momentum` μ: b = μ·b + g / a, θ = θ - lr·b.
---
---Options: lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0 (added to g), momentum = 0, centered = false,
---capturable, foreach, maximize, differentiable.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor({1}, {requires_grad = true})
---local optimizer = torch.optim.RMSprop({x}, {lr = 0.1, alpha = 0})
---torch.sum(x * 3):backward()
---optimizer:step()
---assert(math.abs(x:item() - 0.9) < 1e-6)  -- with alpha = 0 each step is lr · sign(g)
---```
---@class optim.RMSprop: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.RMSprop
local RMSprop = Elementwise:extend('RMSprop')
RMSprop._can_be_captured = true

RMSprop._options = options.new('RMSprop', {
  options.with(options.lr, 1e-2), {'alpha', 0.99, options.not_negative, 'alpha value'}, options.eps,
  options.weight_decay, {'momentum', 0, options.not_negative, 'momentum value'}, {'centered', false, options.boolean},
  options.capturable, options.foreach, options.maximize, options.differentiable,
}, {'lr', 'momentum', 'alpha', 'eps', 'centered', 'weight_decay', 'capturable', 'foreach', 'maximize', 'differentiable'})

local STEP = {'step'}
local PLAIN = {scalars = STEP, tensors = {'square_avg'}}
local WITH_MOMENTUM = {scalars = STEP, tensors = {'square_avg', 'momentum_buffer'}}
local CENTERED = {scalars = STEP, tensors = {'square_avg', 'grad_avg'}}
local CENTERED_WITH_MOMENTUM = {scalars = STEP, tensors = {'square_avg', 'momentum_buffer', 'grad_avg'}}

function RMSprop:_names(group)
  if group.centered then return group.momentum > 0 and CENTERED_WITH_MOMENTUM or CENTERED end
  return group.momentum > 0 and WITH_MOMENTUM or PLAIN
end

function RMSprop:_start(state, group, param)
  self:start_step(state, param)
  for _, name in ipairs(self:_names(group).tensors) do state[name] = state[name] or torch.zeros_like(param) end
end

function RMSprop:_update_block(group, block)
  local grad, is_new = self.gradient(group, block)
  local alpha = group.alpha
  block.square_avg:mul_(alpha):addcmul_(grad, grad, {value = 1 - alpha})
  local average
  if group.centered then
    block.grad_avg:lerp_(grad, 1 - alpha)
    average = block.square_avg:addcmul(block.grad_avg, block.grad_avg, {value = -1}):sqrt_()
  else
    average = block.square_avg:sqrt()
  end
  average:add_(group.eps)
  if group.momentum > 0 then
    block.momentum_buffer:mul_(group.momentum):addcdiv_(grad, average)
    Rates.descend(block.param, block.momentum_buffer, self:_lr_of(group, grad.device))
  elseif self._rates then
    Rates.descend(block.param, grad:div(average), self:_lr_of(group, grad.device))
  else
    block.param:addcdiv_(grad, average, {value = -Rates.number(group.lr)})
  end
  self.release(average, is_new and grad)
end

return {RMSprop = RMSprop}
