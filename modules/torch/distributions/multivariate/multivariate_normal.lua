-- torch/distributions/multivariate/multivariate_normal.lua: MultivariateNormal: normal vectors.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local checks = require 'torch.functions.checks'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local matrices = require 'torch.distributions.shared.matrices'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local scale_matrix = require 'torch.distributions.shared.scale_matrix'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Normal vectors. Exactly one of the three matrices is given; scale_tril is the cheapest, since all others are computed
---from it. Arguments: loc (mean, (…, n)), {covariance_matrix ((…, n, n), positive-definite), precision_matrix (its
---inverse), scale_tril (its lower triangular Cholesky factor), validate_args}.
---
---```lua
---local torch = require 'torch'
---local normal = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
---assert(normal:rsample{3}.shape == torch.Size{3, 2})
---assert(math.abs(normal:log_prob(torch.zeros(2)):item() + math.log(2 * math.pi)) < 1e-6)
---```
---@class distributions.MultivariateNormal: distributions.Distribution
---@overload fun(loc: torch.Tensor, covariance_matrix?: torch.Tensor, ...: any): distributions.MultivariateNormal
---@field loc torch.Tensor (…, n)
---@field covariance_matrix torch.Tensor (…, n, n)
---@field precision_matrix torch.Tensor (…, n, n)
---@field scale_tril torch.Tensor (…, n, n)
local MultivariateNormal = Distribution:extend('MultivariateNormal')
MultivariateNormal.arg_constraints = ordered.new{
  {'loc', constraints.real_vector}, {'covariance_matrix', constraints.positive_definite},
  {'precision_matrix', constraints.positive_definite}, {'scale_tril', constraints.lower_cholesky}}
MultivariateNormal.support = constraints.real_vector
MultivariateNormal.has_rsample = true

local signature = args.signature('MultivariateNormal', {'loc', {'covariance_matrix'}, {'precision_matrix'},
  {'scale_tril'}, {'validate_args'}})

function MultivariateNormal:init(...)
  local bound = signature:bind(...)
  local loc = checks.tensor('MultivariateNormal: loc', bound.loc)
  if loc:dim() < 1 then errors.raise('argument', 'loc must be at least one-dimensional.') end
  local name, matrix = scale_matrix.given(bound)
  local batch_shape = sizes.broadcast(sizes.slice(matrix.shape, 0, -2), sizes.slice(loc.shape, 0, -1))
  self[name] = matrix:expand(batch_shape .. {-1, -1})
  self.loc = loc:expand(batch_shape .. {-1})
  self:_start(batch_shape, sizes.slice(loc.shape, -1), bound.validate_args)
  self._tril = scale_matrix.tril(name, matrix)
end

function MultivariateNormal:_expand_into(new, batch_shape)
  new.loc, new._tril = self.loc:expand(batch_shape .. self.event_shape), self._tril
  scale_matrix.expand(self, new, batch_shape .. self.event_shape .. self.event_shape)
end

local function matrix_shape(self) return self.batch_shape .. self.event_shape .. self.event_shape end

MultivariateNormal.scale_tril = properties.lazy_property(function(self) return self._tril:expand(matrix_shape(self)) end)

MultivariateNormal.covariance_matrix = properties.lazy_property(function(self)
  return torch.matmul(self._tril, self._tril.mT):expand(matrix_shape(self))
end)

MultivariateNormal.precision_matrix = properties.lazy_property(function(self)
  return torch.cholesky_inverse(self._tril):expand(matrix_shape(self))
end)

MultivariateNormal.mean = properties.property(function(self) return self.loc end)
MultivariateNormal.mode = MultivariateNormal.mean
MultivariateNormal.variance = properties.property(function(self)
  return self._tril:pow(2):sum(-1):expand(self.batch_shape .. self.event_shape)
end)

function MultivariateNormal:_rsample(sample_shape)
  local eps = utils.standard_normal(self:_extended_shape(sample_shape), self.loc)
  return self.loc + matrices.times_vector(self._tril, eps)
end

function MultivariateNormal:_log_prob(value)
  local distance = matrices.mahalanobis(self._tril, value - self.loc)
  return -0.5 * (self.event_shape[1] * math.log(2 * math.pi) + distance) - matrices.half_log_det(self._tril)
end

function MultivariateNormal:_entropy()
  local entropy = 0.5 * self.event_shape[1] * (1 + math.log(2 * math.pi)) + matrices.half_log_det(self._tril)
  return #self.batch_shape == 0 and entropy or entropy:expand(self.batch_shape)
end

return MultivariateNormal
