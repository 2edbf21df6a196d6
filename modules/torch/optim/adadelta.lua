-- torch/optim/adadelta.lua: Adadelta.

local Elementwise = require('torch.optim.elementwise').Elementwise
local Rates = require 'torch.optim.rates'
local options = require 'torch.optim.options'
local torch = require 'torch'

---Adadelta (Zeiler 2012, arXiv 1212.5701). With the gradient g:
---v = ρ·v + (1 - ρ)·g², Δ = g·√(u + ε) / √(v + ε), u = ρ·u + (1 - ρ)·Δ², θ = θ - lr·Δ.
---
---Options: lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0 (added to g), foreach, {capturable, maximize,
---differentiable = false}.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(2, 1)
---local optimizer = torch.optim.Adadelta(layer:parameters(), {lr = 1})
---layer(torch.ones(1, 2)):sum():backward()
---optimizer:step()
---assert(optimizer.state[layer.weight].step:item() == 1)
---```
---@class optim.Adadelta: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.Adadelta
local Adadelta = Elementwise:extend('Adadelta')
Adadelta._can_be_captured = true

Adadelta._options = options.new('Adadelta', {
  options.with(options.lr, 1), {'rho', 0.9, options.between(0, 1), 'rho value'}, options.with(options.eps, 1e-6),
  options.weight_decay, options.foreach, options.capturable, options.maximize, options.differentiable,
}, {'lr', 'rho', 'eps', 'weight_decay', 'maximize', 'capturable', 'foreach', 'differentiable'})

local NAMES = {scalars = {'step'}, tensors = {'square_avg', 'acc_delta'}}

function Adadelta:_names() return NAMES end

function Adadelta:_start(state, _, param)
  self:start_step(state, param)
  state.square_avg = state.square_avg or torch.zeros_like(param)
  state.acc_delta = state.acc_delta or torch.zeros_like(param)
end

function Adadelta:_update_block(group, block)
  local grad, is_new = self.gradient(group, block)
  local rho, eps = group.rho, group.eps
  block.square_avg:mul_(rho):addcmul_(grad, grad, {value = 1 - rho})
  local std = block.square_avg:add(eps):sqrt_()
  local delta = block.acc_delta:add(eps):sqrt_():div_(std):mul_(grad)
  block.acc_delta:mul_(rho):addcmul_(delta, delta, {value = 1 - rho})
  Rates.descend(block.param, delta, self:_lr_of(group, delta.device))
  self.release(std, delta, is_new and grad)
end

return {Adadelta = Adadelta}
