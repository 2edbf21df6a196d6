-- torch/distributions/log_normal.lua: LogNormal: numbers whose logarithms are normal.

local Normal = require 'torch.distributions.normal'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local transforms = require 'torch.distributions.transforms'

---Numbers whose logarithms are normal. Arguments: loc, scale (mean and standard deviation of the logarithm),
---{validate_args}.
---
---```lua
---local torch = require 'torch'
---local log_normal = torch.distributions.LogNormal(0, 1)
---assert(math.abs(log_normal.mean:item() - math.exp(0.5)) < 1e-6 and log_normal:rsample():item() > 0)
---```
---@class distributions.LogNormal: distributions.TransformedDistribution
---@overload fun(loc: number|torch.Tensor, scale: number|torch.Tensor, validate_args?: boolean): distributions.LogNormal
---@field loc torch.Tensor
---@field scale torch.Tensor
local LogNormal = TransformedDistribution:extend('LogNormal')
LogNormal.arg_constraints = ordered.new{{'loc', constraints.real}, {'scale', constraints.positive}}
LogNormal.support = constraints.positive
LogNormal.has_rsample = true
LogNormal._expands = {}

local signature = args.signature('LogNormal', {'loc', 'scale', {'validate_args'}})

function LogNormal:init(...)
  local bound = signature:bind(...)
  local base = Normal(bound.loc, bound.scale, {validate_args = bound.validate_args})
  self:_transform(base, {transforms.ExpTransform()}, bound.validate_args)
end

properties.delegate(LogNormal, 'base_dist', {'loc', 'scale'})

LogNormal.mean = properties.property(function(self) return (self.loc + self.scale:pow(2) / 2):exp() end)
LogNormal.mode = properties.property(function(self) return (self.loc - self.scale:square()):exp() end)
LogNormal.variance = properties.property(function(self)
  local scale_sq = self.scale:pow(2)
  return scale_sq:expm1() * (2 * self.loc + scale_sq):exp()
end)

function LogNormal:_entropy() return self.base_dist:entropy() + self.loc end

return LogNormal
