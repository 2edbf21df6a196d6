-- torch/distributions/exponential.lua: Exponential: times between events.

local ExponentialFamily = require 'torch.distributions.exponential_family'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Times between events that occur at a rate. Arguments: rate (1 / scale), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local exponential = torch.distributions.Exponential(2)
---assert(exponential.mean:item() == 0.5 and exponential:rsample():item() >= 0)
---```
---@class distributions.Exponential: distributions.ExponentialFamily
---@overload fun(rate: number|torch.Tensor, validate_args?: boolean): distributions.Exponential
---@field rate torch.Tensor
local Exponential = ExponentialFamily:extend('Exponential')
Exponential.arg_constraints = ordered.new{{'rate', constraints.positive}}
Exponential.support = constraints.nonnegative
Exponential.has_rsample = true
Exponential._mean_carrier_measure = 0
Exponential._expands = {'rate'}

local signature = args.signature('Exponential', {'rate', {'validate_args'}})

function Exponential:init(...) self:_start_with(Exponential._expands, signature:bind(...)) end

Exponential.mean = properties.property(function(self) return self.rate:reciprocal() end)
Exponential.mode = properties.property(function(self) return torch.zeros_like(self.rate) end)
Exponential.stddev = Exponential.mean
Exponential.variance = properties.property(function(self) return self.rate:pow(-2) end)

function Exponential:_rsample(sample_shape)
  return torch.empty(self:_extended_shape(sample_shape), utils.like(self.rate)):exponential_() / self.rate
end

function Exponential:_log_prob(value) return self.rate:log() - self.rate * value end

function Exponential:_cdf(value) return 1 - torch.exp(-self.rate * value) end

function Exponential:_icdf(value) return -torch.log1p(-value) / self.rate end

function Exponential:_entropy() return 1 - torch.log(self.rate) end

Exponential._natural_params = properties.property(function(self) return {-self.rate} end)

function Exponential:_log_normalizer(x) return -torch.log(-x) end

return Exponential
