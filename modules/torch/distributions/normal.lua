-- torch/distributions/normal.lua: Normal.

local ExponentialFamily = require 'torch.distributions.exponential_family'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The normal (Gaussian) distribution. Arguments: loc (mean), scale (standard deviation), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local loc = torch.zeros(3, {requires_grad = true})
---local normal = torch.distributions.Normal(loc, 1)
---assert(tostring(torch.distributions.Normal(0, 1)) == 'Normal(loc: 0.0, scale: 1.0)')
---assert(normal:sample{2}.shape == torch.Size{2, 3})
---normal:rsample():sum():backward()
---assert(torch.equal(loc.grad, torch.ones(3)))
---```
---@class distributions.Normal: distributions.ExponentialFamily
---@overload fun(loc: number|torch.Tensor, scale: number|torch.Tensor, validate_args?: boolean): distributions.Normal
---@field loc torch.Tensor the mean
---@field scale torch.Tensor the standard deviation
local Normal = ExponentialFamily:extend('Normal')
Normal.arg_constraints = ordered.new{{'loc', constraints.real}, {'scale', constraints.positive}}
Normal.support = constraints.real
Normal.has_rsample = true
Normal._mean_carrier_measure = 0
Normal._expands = {'loc', 'scale'}

local signature = args.signature('Normal', {'loc', 'scale', {'validate_args'}})

function Normal:init(...) self:_start_with(Normal._expands, signature:bind(...)) end

Normal.mean = properties.property(function(self) return self.loc end)
Normal.mode = Normal.mean
Normal.stddev = properties.property(function(self) return self.scale end)
Normal.variance = properties.property(function(self) return self.stddev:pow(2) end)

function Normal:_sample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  return torch.normal(self.loc:expand(shape), self.scale:expand(shape))
end

function Normal:_rsample(sample_shape)
  return self.loc + utils.standard_normal(self:_extended_shape(sample_shape), self.loc) * self.scale
end

function Normal:_log_prob(value)
  return -((value - self.loc) ^ 2) / (2 * self.scale ^ 2) - self.scale:log() - math.log(math.sqrt(2 * math.pi))
end

function Normal:_cdf(value)
  return 0.5 * (1 + torch.erf((value - self.loc) * self.scale:reciprocal() / math.sqrt(2)))
end

function Normal:_icdf(value) return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2) end

function Normal:_entropy() return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale) end

Normal._natural_params = properties.property(function(self)
  return {self.loc / self.scale:pow(2), -0.5 * self.scale:pow(2):reciprocal()}
end)

function Normal:_log_normalizer(x, y) return -0.25 * x:pow(2) / y + 0.5 * torch.log(-math.pi / y) end

return Normal
