-- torch/distributions/generalized_pareto.lua: GeneralizedPareto: values above a threshold.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Values above a threshold. With loc = scale / concentration it is a Pareto distribution, with concentration 0 an
---exponential distribution. Arguments: loc (the threshold), scale, concentration (the shape), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local tail = torch.distributions.GeneralizedPareto(torch.tensor{0}, torch.tensor{1}, torch.tensor{0.25})
---local x = torch.tensor{2}
---assert(torch.allclose(tail:icdf(tail:cdf(x)), x))
---```
---@class distributions.GeneralizedPareto: distributions.Distribution
---@overload fun(loc: number|torch.Tensor, scale: number|torch.Tensor, ...: any): distributions.GeneralizedPareto
---@field loc torch.Tensor
---@field scale torch.Tensor
---@field concentration torch.Tensor
local GeneralizedPareto = Distribution:extend('GeneralizedPareto')
GeneralizedPareto.arg_constraints = ordered.new{{'loc', constraints.real}, {'scale', constraints.positive},
                                                {'concentration', constraints.real}}
GeneralizedPareto.has_rsample = true
GeneralizedPareto._expands = {'loc', 'scale', 'concentration'}

local signature = args.signature('GeneralizedPareto', {'loc', 'scale', 'concentration', {'validate_args'}})

function GeneralizedPareto:init(...) self:_start_with(GeneralizedPareto._expands, signature:bind(...)) end

function GeneralizedPareto:_rsample(sample_shape)
  return self:icdf(torch.rand(self:_extended_shape(sample_shape), utils.like(self.loc)))
end

-- Returns where the concentration is 0, and the concentration with 1 in these places.
local function split(concentration)
  local is_zero = torch.isclose(concentration, torch.zeros_like(concentration))
  return is_zero, torch.where(is_zero, torch.ones_like(concentration), concentration)
end

function GeneralizedPareto:_log_prob(value)
  local z = (value - self.loc) / self.scale
  local is_zero, concentration = split(self.concentration)
  local y = 1 / concentration + torch.ones_like(z)
  local elsewhere = torch.where(y:eq(0), y, y * torch.log1p(concentration * z))
  return -self.scale:log() - torch.where(is_zero, z, elsewhere)
end

local survival_signature = args.signature('log_survival_function', {'value'})
local log_cdf_signature = args.signature('log_cdf', {'value'})

---Returns the logarithm of 1 - cdf. Arguments: value.
---@return torch.Tensor
function GeneralizedPareto:log_survival_function(...)
  local value = survival_signature:bind(...).value
  if self._validate_args then self:_validate_sample(value) end
  return self:_log_survival(value)
end

function GeneralizedPareto:_log_survival(value)
  local z = (value - self.loc) / self.scale
  local is_zero, concentration = split(self.concentration)
  return torch.where(is_zero, -z, -torch.log1p(concentration * z) / concentration)
end

---Returns the logarithm of cdf. Arguments: value.
---@return torch.Tensor
function GeneralizedPareto:log_cdf(...)
  return torch.log1p(-torch.exp(self:log_survival_function(log_cdf_signature:bind(...).value)))
end

function GeneralizedPareto:_cdf(value)
  return torch.exp(torch.log1p(-torch.exp(self:_log_survival(value))))
end

function GeneralizedPareto:_icdf(value)
  local is_zero, concentration = split(self.concentration)
  local log_rest = torch.log1p(-value)
  local elsewhere = self.loc + self.scale / concentration * torch.expm1(-concentration * log_rest)
  return torch.where(is_zero, self.loc - self.scale * log_rest, elsewhere)
end

-- Returns the moment if the concentration is below the limit, else NaN.
local function moment(self, limit, inside, fn)
  local valid = self.concentration:lt(limit)
  return torch.where(valid, fn(torch.where(valid, self.concentration, inside)), torch.nan)
end

GeneralizedPareto.mean = properties.property(function(self)
  return moment(self, 1, 0.5, function(concentration) return self.loc + self.scale / (1 - concentration) end)
end)

GeneralizedPareto.variance = properties.property(function(self)
  return moment(self, 0.5, 0.25, function(concentration)
    return self.scale ^ 2 / ((1 - concentration) ^ 2 * (1 - 2 * concentration))
  end)
end)

function GeneralizedPareto:_entropy()
  return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self.batch_shape)
end

GeneralizedPareto.mode = properties.property(function(self) return self.loc end)

GeneralizedPareto.support = constraints.dependent_property(function(self)
  local end_of_tail = self.loc - self.scale / self.concentration
  return constraints.interval(self.loc, torch.where(self.concentration:lt(0), end_of_tail, torch.inf))
end, {is_discrete = false, event_dim = 0})

return GeneralizedPareto
