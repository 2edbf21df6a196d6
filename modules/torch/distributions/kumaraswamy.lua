-- torch/distributions/kumaraswamy.lua: Kumaraswamy: numbers between 0 and 1, similar to Beta.

local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local Uniform = require 'torch.distributions.uniform'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local transforms = require 'torch.distributions.transforms'
local utils = require 'torch.distributions.utils'

---Numbers between 0 and 1, similar to Beta, with a simple cdf. Arguments: concentration1 (alpha), concentration0
---(beta), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local kumaraswamy = torch.distributions.Kumaraswamy(torch.tensor{1}, torch.tensor{1})
---assert(math.abs(kumaraswamy.mean:item() - 0.5) < 1e-6)
---```
---@class distributions.Kumaraswamy: distributions.TransformedDistribution
---@overload fun(concentration1: number|torch.Tensor, concentration0: number|torch.Tensor, ...: any): distributions.Kumaraswamy
---@field concentration1 torch.Tensor
---@field concentration0 torch.Tensor
local Kumaraswamy = TransformedDistribution:extend('Kumaraswamy')
Kumaraswamy.arg_constraints = ordered.new{{'concentration1', constraints.positive},
                                          {'concentration0', constraints.positive}}
Kumaraswamy.support = constraints.unit_interval
Kumaraswamy.has_rsample = true
Kumaraswamy._expands = {'concentration1', 'concentration0'}

local signature = args.signature('Kumaraswamy', {'concentration1', 'concentration0', {'validate_args'}})

function Kumaraswamy:init(...)
  local bound = signature:bind(...)
  self.concentration1, self.concentration0 = utils.broadcast_all(bound.concentration1, bound.concentration0)
  local base = Uniform(torch.full_like(self.concentration0, 0), torch.full_like(self.concentration0, 1),
    {validate_args = bound.validate_args})
  self:_transform(base, {
    transforms.PowerTransform(self.concentration0:reciprocal()),
    transforms.AffineTransform(1, -1),
    transforms.PowerTransform(self.concentration1:reciprocal()),
  }, bound.validate_args)
end

-- Returns the mean of x ^ n.
local function moment(a, b, n)
  local shifted = 1 + n / a
  return b * torch.exp(torch.lgamma(shifted) + torch.lgamma(b) - torch.lgamma(shifted + b))
end

Kumaraswamy.mean = properties.property(function(self) return moment(self.concentration1, self.concentration0, 1) end)

Kumaraswamy.mode = properties.property(function(self)
  local a, b = self.concentration1, self.concentration0
  local log_mode = b:reciprocal() * (-b):log1p() - (-b * a):log1p()
  log_mode[b:lt(1):logical_or(a:lt(1))] = torch.nan
  return log_mode:exp()
end)

Kumaraswamy.variance = properties.property(function(self)
  return moment(self.concentration1, self.concentration0, 2) - torch.pow(self.mean, 2)
end)

function Kumaraswamy:_entropy()
  local t1, t0 = 1 - self.concentration1:reciprocal(), 1 - self.concentration0:reciprocal()
  local h0 = torch.digamma(self.concentration0 + 1) + utils.euler_constant
  return t0 + t1 * h0 - torch.log(self.concentration1) - torch.log(self.concentration0)
end

return Kumaraswamy
