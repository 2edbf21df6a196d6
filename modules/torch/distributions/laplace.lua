-- torch/distributions/laplace.lua: Laplace: exponential tails on both sides.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The Laplace distribution, with exponential tails on both sides of loc. Arguments: loc (mean), scale, {validate_args}.
---
---```lua
---local torch = require 'torch'
---local laplace = torch.distributions.Laplace(torch.tensor{0}, torch.tensor{3})
---assert(laplace.variance:item() == 18 and laplace:rsample().shape == torch.Size{1})
---```
---@class distributions.Laplace: distributions.Distribution
---@overload fun(loc: number|torch.Tensor, scale: number|torch.Tensor, validate_args?: boolean): distributions.Laplace
---@field loc torch.Tensor
---@field scale torch.Tensor
local Laplace = Distribution:extend('Laplace')
Laplace.arg_constraints = ordered.new{{'loc', constraints.real}, {'scale', constraints.positive}}
Laplace.support = constraints.real
Laplace.has_rsample = true
Laplace._expands = {'loc', 'scale'}

local signature = args.signature('Laplace', {'loc', 'scale', {'validate_args'}})

function Laplace:init(...) self:_start_with(Laplace._expands, signature:bind(...)) end

Laplace.mean = properties.property(function(self) return self.loc end)
Laplace.mode = Laplace.mean
Laplace.variance = properties.property(function(self) return 2 * self.scale:pow(2) end)
Laplace.stddev = properties.property(function(self) return math.sqrt(2) * self.scale end)

function Laplace:_rsample(sample_shape)
  local u = torch.empty(self:_extended_shape(sample_shape), utils.like(self.loc))
  u:uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
  return self.loc - self.scale * u:sign() * torch.log1p(-u:abs())
end

function Laplace:_log_prob(value) return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale end

function Laplace:_cdf(value)
  local difference = value - self.loc
  return 0.5 - 0.5 * difference:sign() * torch.expm1(-difference:abs() / self.scale)
end

function Laplace:_icdf(value)
  local term = value - 0.5
  return self.loc - self.scale * term:sign() * torch.log1p(-2 * term:abs())
end

function Laplace:_entropy() return 1 + torch.log(2 * self.scale) end

return Laplace
