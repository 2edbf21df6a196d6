-- torch/distributions/gamma.lua: Gamma.

local ExponentialFamily = require 'torch.distributions.exponential_family'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The gamma distribution. Arguments: concentration (shape, alpha), rate (1 / scale, beta), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local gamma = torch.distributions.Gamma(torch.tensor{2}, torch.tensor{4})
---assert(gamma.mean:item() == 0.5 and gamma:rsample().shape == torch.Size{1})
---```
---@class distributions.Gamma: distributions.ExponentialFamily
---@overload fun(concentration: number|torch.Tensor, rate: number|torch.Tensor, validate_args?: boolean): distributions.Gamma
---@field concentration torch.Tensor
---@field rate torch.Tensor
local Gamma = ExponentialFamily:extend('Gamma')
Gamma.arg_constraints = ordered.new{{'concentration', constraints.positive}, {'rate', constraints.positive}}
Gamma.support = constraints.nonnegative
Gamma.has_rsample = true
Gamma._mean_carrier_measure = 0
Gamma._expands = {'concentration', 'rate'}

local signature = args.signature('Gamma', {'concentration', 'rate', {'validate_args'}})

function Gamma:init(...) self:_start_with(Gamma._expands, signature:bind(...)) end

Gamma.mean = properties.property(function(self) return self.concentration / self.rate end)
Gamma.mode = properties.property(function(self) return ((self.concentration - 1) / self.rate):clamp{min = 0} end)
Gamma.variance = properties.property(function(self) return self.concentration / self.rate:pow(2) end)

function Gamma:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local value = torch._standard_gamma(self.concentration:expand(shape)) / self.rate:expand(shape)
  -- Samples are never 0; the clamp is not part of the graph.
  value:detach():clamp_{min = torch.finfo(value.dtype).tiny}
  return value
end

-- Accepts a number, too.
function Gamma:_validate_sample(value)
  ExponentialFamily._validate_sample(self, type(value) == 'number' and torch.tensor(value, utils.like(self.rate)) or value)
end

function Gamma:_log_prob(value)
  value = torch.as_tensor(value, utils.like(self.rate))
  return torch.xlogy(self.concentration, self.rate) + torch.xlogy(self.concentration - 1, value) - self.rate * value
    - torch.lgamma(self.concentration)
end

function Gamma:_cdf(value) return torch.special.gammainc(self.concentration, self.rate * value) end

function Gamma:_entropy()
  return self.concentration - torch.log(self.rate) + torch.lgamma(self.concentration)
    + (1 - self.concentration) * torch.digamma(self.concentration)
end

Gamma._natural_params = properties.property(function(self) return {self.concentration - 1, -self.rate} end)

function Gamma:_log_normalizer(x, y) return torch.lgamma(x + 1) + (x + 1) * torch.log(-y:reciprocal()) end

return Gamma
