-- torch/distributions/uniform.lua: Uniform: all numbers of an interval with equal density.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Numbers of [low, high) with equal density. Arguments: low, high, {validate_args}.
---
---```lua
---local torch = require 'torch'
---local uniform = torch.distributions.Uniform(torch.tensor{0}, torch.tensor{5})
---assert(uniform.mean:item() == 2.5 and uniform:rsample():item() < 5)
---```
---@class distributions.Uniform: distributions.Distribution
---@overload fun(low: number|torch.Tensor, high: number|torch.Tensor, validate_args?: boolean): distributions.Uniform
---@field low torch.Tensor
---@field high torch.Tensor
local Uniform = Distribution:extend('Uniform')
Uniform.has_rsample = true
Uniform._expands = {'low', 'high'}

Uniform.arg_constraints = properties.property(function(self)
  return ordered.new{{'low', constraints.less_than(self.high)}, {'high', constraints.greater_than(self.low)}}
end)

Uniform.support = constraints.dependent_property(function(self)
  return constraints.interval(self.low, self.high)
end, {is_discrete = false, event_dim = 0})

local signature = args.signature('Uniform', {'low', 'high', {'validate_args'}})

function Uniform:init(...) self:_start_with(Uniform._expands, signature:bind(...)) end

Uniform.mean = properties.property(function(self) return (self.high + self.low) / 2 end)
Uniform.mode = properties.property(function(self) return torch.nan * self.high end)
Uniform.stddev = properties.property(function(self) return (self.high - self.low) / math.sqrt(12) end)
Uniform.variance = properties.property(function(self) return (self.high - self.low):pow(2) / 12 end)

function Uniform:_rsample(sample_shape)
  local rand = torch.rand(self:_extended_shape(sample_shape), utils.like(self.low))
  return self.low + rand * (self.high - self.low)
end

function Uniform:_log_prob(value)
  local above, below = self.low:le(value):type_as(self.low), self.high:gt(value):type_as(self.low)
  return torch.log(above:mul(below)) - torch.log(self.high - self.low)
end

function Uniform:_cdf(value) return ((value - self.low) / (self.high - self.low)):clamp{min = 0, max = 1} end

function Uniform:_icdf(value) return value * (self.high - self.low) + self.low end

function Uniform:_entropy() return torch.log(self.high - self.low) end

return Uniform
