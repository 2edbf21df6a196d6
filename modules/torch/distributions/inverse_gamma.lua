-- torch/distributions/inverse_gamma.lua: InverseGamma: 1 / x of a gamma distribution's x.

local Gamma = require 'torch.distributions.gamma'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local transforms = require 'torch.distributions.transforms'
local utils = require 'torch.distributions.utils'

---1 / x of a gamma distribution's x. Arguments: concentration (shape, alpha), rate (1 / scale of x, beta), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local inverse = torch.distributions.InverseGamma(torch.tensor{3}, torch.tensor{4})
---assert(inverse.mean:item() == 2 and inverse.mode:item() == 1)
---```
---@class distributions.InverseGamma: distributions.TransformedDistribution
---@overload fun(concentration: number|torch.Tensor, rate: number|torch.Tensor, ...: any): distributions.InverseGamma
---@field concentration torch.Tensor
---@field rate torch.Tensor
local InverseGamma = TransformedDistribution:extend('InverseGamma')
InverseGamma.arg_constraints = ordered.new{{'concentration', constraints.positive}, {'rate', constraints.positive}}
InverseGamma.support = constraints.positive
InverseGamma.has_rsample = true
InverseGamma._expands = {}

local signature = args.signature('InverseGamma', {'concentration', 'rate', {'validate_args'}})

function InverseGamma:init(...)
  local bound = signature:bind(...)
  local base = Gamma(bound.concentration, bound.rate, {validate_args = bound.validate_args})
  local minus_one = -torch.ones({}, utils.like(base.rate))
  self:_transform(base, {transforms.PowerTransform(minus_one)}, bound.validate_args)
end

properties.delegate(InverseGamma, 'base_dist', {'concentration', 'rate'})

InverseGamma.mean = properties.property(function(self)
  return torch.where(self.concentration:gt(1), self.rate / (self.concentration - 1), torch.inf)
end)

InverseGamma.mode = properties.property(function(self) return self.rate / (self.concentration + 1) end)

InverseGamma.variance = properties.property(function(self)
  local result = self.rate:square() / ((self.concentration - 1):square() * (self.concentration - 2))
  return torch.where(self.concentration:gt(2), result, torch.inf)
end)

function InverseGamma:_entropy()
  return self.concentration + self.rate:log() + self.concentration:lgamma()
    - (1 + self.concentration) * self.concentration:digamma()
end

return InverseGamma
