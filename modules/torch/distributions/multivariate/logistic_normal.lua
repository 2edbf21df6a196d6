-- torch/distributions/multivariate/logistic_normal.lua: LogisticNormal: normal vectors on the simplex.

local Normal = require 'torch.distributions.normal'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local transforms = require 'torch.distributions.transforms'

---Normal vectors of K numbers, mapped to the simplex of K + 1 numbers by stick breaking. Arguments: loc, scale (of the
---normal numbers), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local logistic = torch.distributions.LogisticNormal(torch.zeros(3), torch.ones(3))
---assert(logistic.event_shape == torch.Size{4} and math.abs(logistic:sample():sum():item() - 1) < 1e-5)
---```
---@class distributions.LogisticNormal: distributions.TransformedDistribution
---@overload fun(loc: number|torch.Tensor, scale: number|torch.Tensor, validate_args?: boolean): distributions.LogisticNormal
---@field loc torch.Tensor
---@field scale torch.Tensor
local LogisticNormal = TransformedDistribution:extend('LogisticNormal')
LogisticNormal.arg_constraints = ordered.new{{'loc', constraints.real}, {'scale', constraints.positive}}
LogisticNormal.support = constraints.simplex
LogisticNormal.has_rsample = true
LogisticNormal._expands = {}

local signature = args.signature('LogisticNormal', {'loc', 'scale', {'validate_args'}})

function LogisticNormal:init(...)
  local bound = signature:bind(...)
  local base = Normal(bound.loc, bound.scale, {validate_args = bound.validate_args})
  if #base.batch_shape == 0 then base = base:expand{1} end
  self:_transform(base, {transforms.StickBreakingTransform()}, bound.validate_args)
end

-- The base is an Independent of a Normal.
for _, name in ipairs{'loc', 'scale'} do
  LogisticNormal[name] = properties.property(function(self) return self.base_dist.base_dist[name] end)
end

return LogisticNormal
