-- torch/optim/asgd.lua: averaged stochastic gradient descent.

local Elementwise = require('torch.optim.elementwise').Elementwise
local Plan = require 'torch.optim.plan'
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---ASGD (Polyak and Juditsky 1992). With the gradient g: θ = θ·(1 - λ·η) - η·g, η = lr / (1 + λ·lr·t)^α, and
---`state[param].ax` is the average of θ over the steps after t0.
---
---Options: lr = 1e-2, lambd = 1e-4, alpha = 0.75, t0 = 1e6, weight_decay = 0 (added to g), foreach, maximize,
---differentiable, capturable.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor({1}, {requires_grad = true})
---local optimizer = torch.optim.ASGD({x}, {lr = 0.1, lambd = 0})
---torch.sum(x * 3):backward()
---optimizer:step()
---assert(math.abs(x:item() - 0.7) < 1e-6 and optimizer.state[x].ax:equal(x))
---```
---@class optim.ASGD: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.ASGD
local ASGD = Elementwise:extend('ASGD')
ASGD._updates_on_host = true

ASGD._options = options.new('ASGD', {
  options.with(options.lr, 1e-2), {'lambd', 1e-4, options.number}, {'alpha', 0.75, options.number},
  {'t0', 1e6, options.number}, options.weight_decay, options.foreach, options.maximize, options.differentiable,
  options.not_capturable,
})

local NAMES = {scalars = {'step', 'eta', 'mu'}, tensors = {'ax'}}

function ASGD:_names() return NAMES end

function ASGD:_start(state, group, param)
  state.step = state.step or Plan.scalar(0)
  if not state.eta then state.eta, state.mu = Plan.scalar(Rates.number(group.lr)), Plan.scalar(1) end
  if type(state.eta) == 'number' then state.eta, state.mu = Plan.scalar(state.eta), Plan.scalar(state.mu) end
  state.ax = state.ax or torch.zeros_like(param)
end

-- A step uses the rates computed by the step before.
function ASGD:_advance(group, unit)
  local out = {eta = unit.first.eta:item(), mu = unit.first.mu:item()}
  local step, lr = self.count_step(unit), Rates.number(group.lr)
  unit.scalars.eta:fill_(lr / (1 + group.lambd * lr * step) ^ group.alpha)
  unit.scalars.mu:fill_(1 / math.max(1, step - group.t0))
  return out
end

function ASGD:_update_block(group, block, coefficients)
  local grad, is_new = self.gradient(group, block)
  block.param:mul_(1 - group.lambd * coefficients.eta)
  block.param:add_(grad, {alpha = -coefficients.eta})
  if coefficients.mu == 1 then
    block.ax:copy_(block.param)
  else
    local way = block.param:sub(block.ax):mul_(coefficients.mu)
    block.ax:add_(way)
    self.release(way)
  end
  self.release(is_new and grad)
end

return {ASGD = ASGD}
