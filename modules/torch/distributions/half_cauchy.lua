-- torch/distributions/half_cauchy.lua: HalfCauchy: the absolute value of a Cauchy number.

local Cauchy = require 'torch.distributions.cauchy'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local half = require 'torch.distributions.shared.half'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
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
half.define(HalfCauchy)

local signature = args.signature('HalfCauchy', {'scale', {'validate_args'}})

function HalfCauchy:init(...) half.start(self, Cauchy, signature:bind(...)) end

HalfCauchy.mean = properties.property(function(self)
  return torch.full(self:_extended_shape(), torch.inf, utils.like(self.scale))
end)
properties.delegate(HalfCauchy, 'base_dist', {'variance'})

-- Accepts a number, too.
local log_prob = HalfCauchy._log_prob
function HalfCauchy:_log_prob(value) return log_prob(self, torch.as_tensor(value, utils.like(self.scale))) end

return HalfCauchy
