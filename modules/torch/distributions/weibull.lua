-- torch/distributions/weibull.lua: Weibull: lifetimes.

local Exponential = require 'torch.distributions.exponential'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local transforms = require 'torch.distributions.transforms'
local utils = require 'torch.distributions.utils'

---Lifetimes. Arguments: scale (lambda), concentration (k, the shape), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local weibull = torch.distributions.Weibull(torch.tensor{1}, torch.tensor{1})
---assert(math.abs(weibull.mean:item() - 1) < 1e-6 and weibull:rsample():item() > 0)
---```
---@class distributions.Weibull: distributions.TransformedDistribution
---@overload fun(scale: number|torch.Tensor, concentration: number|torch.Tensor, validate_args?: boolean): distributions.Weibull
---@field scale torch.Tensor
---@field concentration torch.Tensor
---@field concentration_reciprocal torch.Tensor
local Weibull = TransformedDistribution:extend('Weibull')
Weibull.arg_constraints = ordered.new{{'scale', constraints.positive}, {'concentration', constraints.positive}}
Weibull.support = constraints.positive

local signature = args.signature('Weibull', {'scale', 'concentration', {'validate_args'}})

local function transforms_for(self)
  return {transforms.PowerTransform(self.concentration_reciprocal), transforms.AffineTransform(0, self.scale)}
end

function Weibull:init(...)
  local bound = signature:bind(...)
  self.scale, self.concentration = utils.broadcast_all(bound.scale, bound.concentration)
  self.concentration_reciprocal = self.concentration:reciprocal()
  local base = Exponential(torch.ones_like(self.scale), {validate_args = bound.validate_args})
  self:_transform(base, transforms_for(self), bound.validate_args)
end

function Weibull:_expand_into(new, batch_shape)
  new.scale, new.concentration = self.scale:expand(batch_shape), self.concentration:expand(batch_shape)
  new.concentration_reciprocal = new.concentration:reciprocal()
  new:_transform(self.base_dist:expand(batch_shape), transforms_for(new), false)
end

Weibull.mean = properties.property(function(self)
  return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))
end)

Weibull.mode = properties.property(function(self)
  return self.scale * ((self.concentration - 1) / self.concentration) ^ self.concentration:reciprocal()
end)

Weibull.variance = properties.property(function(self)
  local reciprocal = self.concentration_reciprocal
  return self.scale:pow(2)
    * (torch.exp(torch.lgamma(1 + 2 * reciprocal)) - torch.exp(2 * torch.lgamma(1 + reciprocal)))
end)

function Weibull:_entropy()
  return utils.euler_constant * (1 - self.concentration_reciprocal)
    + torch.log(self.scale * self.concentration_reciprocal) + 1
end

return Weibull
