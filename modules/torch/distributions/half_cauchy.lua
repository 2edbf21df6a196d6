-- torch/distributions/half_cauchy.lua: HalfCauchy: the absolute value of a Cauchy number.

local Cauchy = require 'torch.distributions.cauchy'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.properties'
local torch = require 'torch'
local transforms = require 'torch.distributions.transforms'
local utils = require 'torch.distributions.utils'

---The absolute value of a Cauchy number, with loc = 0. Arguments: scale (of the whole distribution), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local half = torch.distributions.HalfCauchy(torch.tensor{1})
---assert(half:sample():item() >= 0 and math.abs(half:cdf(torch.tensor{1}):item() - 0.5) < 1e-6)
---```
---@class distributions.HalfCauchy: distributions.TransformedDistribution
---@overload fun(scale: number|torch.Tensor, validate_args?: boolean): distributions.HalfCauchy
---@field scale torch.Tensor
local HalfCauchy = TransformedDistribution:extend('HalfCauchy')
HalfCauchy.arg_constraints = ordered.new{{'scale', constraints.positive}}
HalfCauchy.support = constraints.nonnegative
HalfCauchy.has_rsample = true
HalfCauchy._expands = {}

local signature = args.signature('HalfCauchy', {'scale', {'validate_args'}})

function HalfCauchy:init(...)
  local bound = signature:bind(...)
  self:_transform(Cauchy(0, bound.scale, {validate_args = false}), {transforms.AbsTransform()}, bound.validate_args)
end

HalfCauchy.scale = properties.property(function(self) return self.base_dist.scale end)
HalfCauchy.mean = properties.property(function(self)
  return torch.full(self:_extended_shape(), torch.inf, utils.like(self.scale))
end)
HalfCauchy.mode = properties.property(function(self) return torch.zeros_like(self.scale) end)
HalfCauchy.variance = properties.property(function(self) return self.base_dist.variance end)

function HalfCauchy:_log_prob(value)
  value = torch.as_tensor(value, utils.like(self.scale))
  local log_prob = self.base_dist:log_prob(value) + math.log(2)
  return torch.where(value:ge(0), log_prob, -torch.inf)
end

function HalfCauchy:_validate_cdf(value) self:_validate_sample(value) end

function HalfCauchy:_cdf(value) return 2 * self.base_dist:cdf(value) - 1 end

function HalfCauchy:_icdf(value) return self.base_dist:icdf((value + 1) / 2) end

function HalfCauchy:_entropy() return self.base_dist:entropy() - math.log(2) end

return HalfCauchy
