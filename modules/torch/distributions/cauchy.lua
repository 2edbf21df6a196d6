-- torch/distributions/cauchy.lua: Cauchy.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The ratio of two independent normal numbers with means of 0. Arguments: loc (mode, or median), scale (half width at half
---maximum), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local cauchy = torch.distributions.Cauchy(0, 2)
---assert(math.abs(cauchy:cdf(torch.tensor(2)):item() - 0.75) < 1e-6)
---```
---@class distributions.Cauchy: distributions.Distribution
---@overload fun(loc: number|torch.Tensor, scale: number|torch.Tensor, validate_args?: boolean): distributions.Cauchy
---@field loc torch.Tensor
---@field scale torch.Tensor
local Cauchy = Distribution:extend('Cauchy')
Cauchy.arg_constraints = ordered.new{{'loc', constraints.real}, {'scale', constraints.positive}}
Cauchy.support = constraints.real
Cauchy.has_rsample = true
Cauchy._expands = {'loc', 'scale'}

local signature = args.signature('Cauchy', {'loc', 'scale', {'validate_args'}})

function Cauchy:init(...) self:_start_with(Cauchy._expands, signature:bind(...)) end

Cauchy.mean = properties.property(function(self)
  return torch.full(self:_extended_shape(), torch.nan, utils.like(self.loc))
end)

Cauchy.mode = properties.property(function(self) return self.loc end)

Cauchy.variance = properties.property(function(self)
  return torch.full(self:_extended_shape(), torch.inf, utils.like(self.loc))
end)

function Cauchy:_rsample(sample_shape)
  local eps = torch.empty(self:_extended_shape(sample_shape), utils.like(self.loc)):cauchy_()
  return self.loc + eps * self.scale
end

function Cauchy:_log_prob(value)
  return -math.log(math.pi) - self.scale:log() - (((value - self.loc) / self.scale) ^ 2):log1p()
end

function Cauchy:_cdf(value) return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5 end

function Cauchy:_icdf(value) return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc end

function Cauchy:_entropy() return math.log(4 * math.pi) + self.scale:log() end

return Cauchy
