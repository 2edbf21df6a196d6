-- torch/distributions/pareto.lua: Pareto.

local Exponential = require 'torch.distributions.exponential'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local transforms = require 'torch.distributions.transforms'
local utils = require 'torch.distributions.utils'

---The Pareto distribution, type 1. Arguments: scale (the smallest value), alpha (the shape), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local pareto = torch.distributions.Pareto(torch.tensor{1}, torch.tensor{2})
---assert(pareto.mean:item() == 2 and pareto:rsample():item() >= 1)
---```
---@class distributions.Pareto: distributions.TransformedDistribution
---@overload fun(scale: number|torch.Tensor, alpha: number|torch.Tensor, validate_args?: boolean): distributions.Pareto
---@field scale torch.Tensor
---@field alpha torch.Tensor
local Pareto = TransformedDistribution:extend('Pareto')
Pareto.arg_constraints = ordered.new{{'alpha', constraints.positive}, {'scale', constraints.positive}}
Pareto._expands = {'scale', 'alpha'}

local signature = args.signature('Pareto', {'scale', 'alpha', {'validate_args'}})

function Pareto:init(...)
  local bound = signature:bind(...)
  self.scale, self.alpha = utils.broadcast_all(bound.scale, bound.alpha)
  local base = Exponential(self.alpha, {validate_args = bound.validate_args})
  self:_transform(base, {transforms.ExpTransform(), transforms.AffineTransform(0, self.scale)}, bound.validate_args)
end

-- Infinite for an alpha of at most 1.
Pareto.mean = properties.property(function(self)
  local a = self.alpha:clamp{min = 1}
  return a * self.scale / (a - 1)
end)

Pareto.mode = properties.property(function(self) return self.scale end)

-- Infinite for an alpha of at most 2.
Pareto.variance = properties.property(function(self)
  local a = self.alpha:clamp{min = 2}
  return self.scale:pow(2) * a / ((a - 1):pow(2) * (a - 2))
end)

Pareto.support = constraints.dependent_property(function(self)
  return constraints.greater_than_eq(self.scale)
end, {is_discrete = false, event_dim = 0})

function Pareto:_entropy() return (self.scale / self.alpha):log() + (1 + self.alpha:reciprocal()) end

return Pareto
