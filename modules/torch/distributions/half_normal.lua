-- torch/distributions/half_normal.lua: HalfNormal: the absolute value of a normal number.

local Normal = require 'torch.distributions.normal'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.properties'
local torch = require 'torch'
local transforms = require 'torch.distributions.transforms'

---The absolute value of a normal number, with loc = 0. Arguments: scale (of the whole distribution), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local half = torch.distributions.HalfNormal(torch.tensor{1})
---assert(half:sample():item() >= 0 and math.abs(half.mean:item() - math.sqrt(2 / math.pi)) < 1e-6)
---```
---@class distributions.HalfNormal: distributions.TransformedDistribution
---@overload fun(scale: number|torch.Tensor, validate_args?: boolean): distributions.HalfNormal
---@field scale torch.Tensor
local HalfNormal = TransformedDistribution:extend('HalfNormal')
HalfNormal.arg_constraints = ordered.new{{'scale', constraints.positive}}
HalfNormal.support = constraints.nonnegative
HalfNormal.has_rsample = true
HalfNormal._expands = {}

local signature = args.signature('HalfNormal', {'scale', {'validate_args'}})

function HalfNormal:init(...)
  local bound = signature:bind(...)
  self:_transform(Normal(0, bound.scale, {validate_args = false}), {transforms.AbsTransform()}, bound.validate_args)
end

HalfNormal.scale = properties.property(function(self) return self.base_dist.scale end)
HalfNormal.mean = properties.property(function(self)
  return self.scale * math.sqrt(2 / math.pi)
end)
HalfNormal.mode = properties.property(function(self) return torch.zeros_like(self.scale) end)
HalfNormal.variance = properties.property(function(self) return self.scale:pow(2) * (1 - 2 / math.pi) end)

function HalfNormal:_log_prob(value)
  local log_prob = self.base_dist:log_prob(value) + math.log(2)
  return torch.where(value:ge(0), log_prob, -torch.inf)
end

function HalfNormal:_validate_cdf(value) self:_validate_sample(value) end

function HalfNormal:_cdf(value) return 2 * self.base_dist:cdf(value) - 1 end

function HalfNormal:_icdf(value) return self.base_dist:icdf((value + 1) / 2) end

function HalfNormal:_entropy() return self.base_dist:entropy() - math.log(2) end

return HalfNormal
