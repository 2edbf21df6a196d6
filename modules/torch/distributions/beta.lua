-- torch/distributions/beta.lua: Beta: numbers between 0 and 1.

local Dirichlet = require 'torch.distributions.multivariate.dirichlet'
local ExponentialFamily = require 'torch.distributions.exponential_family'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Numbers between 0 and 1: a Dirichlet distribution of two. Arguments: concentration1 (alpha), concentration0 (beta),
---{validate_args}.
---
---```lua
---local torch = require 'torch'
---local beta = torch.distributions.Beta(torch.tensor{3}, torch.tensor{1})
---assert(beta.mean:item() == 0.75 and beta:rsample().shape == torch.Size{1})
---```
---@class distributions.Beta: distributions.ExponentialFamily
---@overload fun(concentration1: number|torch.Tensor, concentration0: number|torch.Tensor, ...: any): distributions.Beta
---@field concentration1 torch.Tensor alpha
---@field concentration0 torch.Tensor beta
local Beta = ExponentialFamily:extend('Beta')
Beta.arg_constraints = ordered.new{{'concentration1', constraints.positive}, {'concentration0', constraints.positive}}
Beta.support = constraints.unit_interval
Beta.has_rsample = true

local signature = args.signature('Beta', {'concentration1', 'concentration0', {'validate_args'}})

function Beta:init(...)
  local bound = signature:bind(...)
  local concentration1, concentration0 = utils.broadcast_all(bound.concentration1, bound.concentration0)
  self._dirichlet = Dirichlet(torch.stack({concentration1, concentration0}, -1), {validate_args = bound.validate_args})
  self:_start(self._dirichlet.batch_shape, nil, bound.validate_args)
end

function Beta:_expand_into(new, batch_shape) new._dirichlet = self._dirichlet:expand(batch_shape) end

Beta.concentration1 = properties.property(function(self) return self._dirichlet.concentration:select(-1, 0) end)
Beta.concentration0 = properties.property(function(self) return self._dirichlet.concentration:select(-1, 1) end)

Beta.mean = properties.property(function(self)
  return self.concentration1 / (self.concentration1 + self.concentration0)
end)

Beta.mode = properties.property(function(self) return self._dirichlet.mode:select(-1, 0) end)

Beta.variance = properties.property(function(self)
  local total = self.concentration1 + self.concentration0
  return self.concentration1 * self.concentration0 / (total:pow(2) * (total + 1))
end)

function Beta:_rsample(sample_shape) return self._dirichlet:rsample(sample_shape):select(-1, 0) end

function Beta:_log_prob(value) return self._dirichlet:log_prob(torch.stack({value, 1 - value}, -1)) end

function Beta:_entropy() return self._dirichlet:entropy() end

Beta._natural_params = properties.property(function(self) return {self.concentration1, self.concentration0} end)

function Beta:_log_normalizer(x, y) return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y) end

return Beta
