-- torch/optim/rprop.lua: resilient backpropagation.

local Elementwise = require('torch.optim.elementwise').Elementwise
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---Rprop (Riedmiller and Braun 1993). Each element has a step size: it is multiplied by η⁺ while the gradient keeps its
---sign (up to the larger of step_sizes), and by η⁻ when the sign changes (down to the smaller); then the element does
---not move. θ = θ - sign(g)·step size. For full batches.
---
---Options: lr = 1e-2 (the first step size), etas = {0.5, 1.2}, step_sizes = {1e-6, 50}, {capturable, foreach, maximize,
---differentiable}.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor({1}, {requires_grad = true})
---local optimizer = torch.optim.Rprop({x}, {lr = 0.1})
---for _ = 1, 2 do
---  optimizer:zero_grad()
---  torch.sum(x * 3):backward()
---  optimizer:step()
---end
---assert(math.abs(x:item() - (1 - 0.1 - 0.12)) < 1e-6)
---```
---@class optim.Rprop: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.Rprop
local Rprop = Elementwise:extend('Rprop')
Rprop._can_be_captured = true

local function is_etas(value)
  return type(value) == 'table' and #value == 2 and options.between(0, 1)(value[1]) and value[1] > 0 and value[1] < 1
    and options.number(value[2]) and value[2] > 1, ('invalid eta values: %s'):format(options.text(value))
end

local function is_pair(value) return type(value) == 'table' and options.number(value[1]) and options.number(value[2]) end

Rprop._options = options.new('Rprop', {
  options.with(options.lr, 1e-2), {'etas', {0.5, 1.2}, is_etas}, {'step_sizes', {1e-6, 50}, is_pair},
  options.capturable, options.foreach, options.maximize, options.differentiable,
}, {'lr', 'etas', 'step_sizes', 'foreach', 'maximize', 'differentiable', 'capturable'})

local NAMES = {scalars = {'step'}, tensors = {'prev', 'step_size'}}

function Rprop:_names() return NAMES end

function Rprop:_start(state, group, param)
  self:start_step(state, param)
  state.prev = state.prev or torch.zeros_like(param)
  if state.step_size then return end
  state.step_size = torch.zeros_like(param)
  -- For a complex parameter both parts have a step size.
  local parts = param:is_complex() and torch.view_as_real(state.step_size) or state.step_size
  parts:fill_(Rates.number(group.lr))
end

function Rprop:_update_block(group, block)
  local shrink, grow = group.etas[1], group.etas[2]
  local grad = group.maximize and block.grad:neg() or block.grad:clone()
  local factor = grad:mul(block.prev):sign_()
  local positive, negative, zero = factor:gt(0), factor:lt(0), factor:eq(0)
  factor:masked_fill_(positive, grow):masked_fill_(negative, shrink):masked_fill_(zero, 1)
  block.step_size:mul_(factor):clamp_(group.step_sizes[1], group.step_sizes[2])
  grad:masked_fill_(negative, 0)
  local sign = grad:sign()
  block.param:addcmul_(sign, block.step_size, {value = -1})
  block.prev:copy_(grad)
  self.release(grad, factor, positive, negative, zero, sign)
end

return {Rprop = Rprop}
