-- torch/distributions/discrete/poisson.lua: Poisson: number of events.

local ExponentialFamily = require 'torch.distributions.exponential_family'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The number of events that occur at a rate. Arguments: rate (at least 0), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local poisson = torch.distributions.Poisson(torch.tensor{4})
---assert(poisson.variance:item() == 4 and poisson:sample():item() >= 0)
---```
---@class distributions.Poisson: distributions.ExponentialFamily
---@overload fun(rate: number|torch.Tensor, validate_args?: boolean): distributions.Poisson
---@field rate torch.Tensor
local Poisson = ExponentialFamily:extend('Poisson')
Poisson.arg_constraints = ordered.new{{'rate', constraints.nonnegative}}
Poisson.support = constraints.nonnegative_integer
Poisson._expands = {'rate'}

local signature = args.signature('Poisson', {'rate', {'validate_args'}})

function Poisson:init(...) self:_start_with(Poisson._expands, signature:bind(...)) end

Poisson.mean = properties.property(function(self) return self.rate end)
Poisson.mode = properties.property(function(self) return self.rate:floor() end)
Poisson.variance = Poisson.mean

function Poisson:_sample(sample_shape) return torch.poisson(self.rate:expand(self:_extended_shape(sample_shape))) end

function Poisson:_log_prob(value)
  local rate
  rate, value = utils.broadcast_all(self.rate, value)
  return value:xlogy(rate) - rate - (value + 1):lgamma()
end

Poisson._natural_params = properties.property(function(self) return {torch.log(self.rate)} end)

function Poisson:_log_normalizer(x) return torch.exp(x) end

return Poisson
