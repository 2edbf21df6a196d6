-- torch/distributions/multivariate/low_rank_multivariate_normal.lua: LowRankMultivariateNormal: a covariance of few factors.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local checks = require 'torch.functions.checks'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local matrices = require 'torch.distributions.shared.matrices'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Normal vectors with the covariance W Wᵀ + D of a factor W with few columns and a diagonal D: log_prob and entropy cost
---only operations on m × m matrices. Arguments: loc (mean, (…, n)), cov_factor (W, (…, n, m)), cov_diag (the diagonal
---of D, (…, n)), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local normal = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.tensor{{1}, {0}}, torch.ones(2))
---assert(torch.equal(normal.covariance_matrix, torch.tensor{{2, 0}, {0, 1}}))
---```
---@class distributions.LowRankMultivariateNormal: distributions.Distribution
---@overload fun(loc: torch.Tensor, cov_factor: torch.Tensor, ...: any): distributions.LowRankMultivariateNormal
---@field loc torch.Tensor (…, n)
---@field cov_factor torch.Tensor (…, n, m)
---@field cov_diag torch.Tensor (…, n)
---@field covariance_matrix torch.Tensor (…, n, n)
---@field precision_matrix torch.Tensor (…, n, n)
---@field scale_tril torch.Tensor (…, n, n)
local LowRankMultivariateNormal = Distribution:extend('LowRankMultivariateNormal')
LowRankMultivariateNormal.arg_constraints = ordered.new{
  {'loc', constraints.real_vector}, {'cov_factor', constraints.independent(constraints.real, 2)},
  {'cov_diag', constraints.independent(constraints.positive, 1)}}
LowRankMultivariateNormal.support = constraints.real_vector
LowRankMultivariateNormal.has_rsample = true

local signature = args.signature('LowRankMultivariateNormal', {'loc', 'cov_factor', 'cov_diag', {'validate_args'}})

local function check_shapes(loc, cov_factor, cov_diag)
  if loc:dim() < 1 then errors.raise('argument', 'loc must be at least one-dimensional.') end
  local event_shape = sizes.slice(loc.shape, -1)
  if cov_factor:dim() < 2 then
    errors.raise('argument', 'cov_factor must be at least two-dimensional, with optional leading batch dimensions')
  end
  if cov_factor:size(-2) ~= event_shape[1] then
    errors.raise('argument', ('cov_factor must be a batch of matrices with shape %d x m'):format(event_shape[1]))
  end
  if sizes.slice(cov_diag.shape, -1) ~= event_shape then
    errors.raise('argument', 'cov_diag must be a batch of vectors with shape ' .. tostring(event_shape))
  end
  return event_shape
end

function LowRankMultivariateNormal:init(...)
  local bound = signature:bind(...)
  local loc = checks.tensor('LowRankMultivariateNormal: loc', bound.loc)
  local factor = checks.tensor('LowRankMultivariateNormal: cov_factor', bound.cov_factor)
  local diag = checks.tensor('LowRankMultivariateNormal: cov_diag', bound.cov_diag)
  local event_shape = check_shapes(loc, factor, diag)
  local ok, broadcast = pcall(torch.broadcast_tensors, {loc:unsqueeze(-1), factor, diag:unsqueeze(-1)})
  if not ok then
    errors.raise('argument', ('Incompatible batch shapes: loc %s, cov_factor %s, cov_diag %s'):format(tostring(loc.shape),
      tostring(factor.shape), tostring(diag.shape)))
  end
  self.loc, self.cov_factor, self.cov_diag = broadcast[1]:select(-1, 0), broadcast[2], broadcast[3]:select(-1, 0)
  self._factor, self._diag = factor, diag
  self._capacitance_tril = matrices.capacitance_tril(factor, diag)
  self:_start(sizes.slice(self.loc.shape, 0, -1), event_shape, bound.validate_args)
end

function LowRankMultivariateNormal:_expand_into(new, batch_shape)
  local shape = batch_shape .. self.event_shape
  new.loc, new.cov_diag = self.loc:expand(shape), self.cov_diag:expand(shape)
  new.cov_factor = self.cov_factor:expand(shape .. {self.cov_factor:size(-1)})
  new._factor, new._diag, new._capacitance_tril = self._factor, self._diag, self._capacitance_tril
end

LowRankMultivariateNormal.mean = properties.property(function(self) return self.loc end)
LowRankMultivariateNormal.mode = LowRankMultivariateNormal.mean

LowRankMultivariateNormal.variance = properties.lazy_property(function(self)
  return (self._factor:pow(2):sum(-1) + self._diag):expand(self.batch_shape .. self.event_shape)
end)

local function matrix_shape(self) return self.batch_shape .. self.event_shape .. self.event_shape end

LowRankMultivariateNormal.scale_tril = properties.lazy_property(function(self)
  return matrices.lowrank_scale_tril(self._factor, self._diag):expand(matrix_shape(self))
end)

LowRankMultivariateNormal.covariance_matrix = properties.lazy_property(function(self)
  local matrix = torch.matmul(self._factor, self._factor.mT) + torch.diag_embed(self._diag)
  return matrix:expand(matrix_shape(self))
end)

LowRankMultivariateNormal.precision_matrix = properties.lazy_property(function(self)
  local scaled = self._factor.mT / self._diag:unsqueeze(-2)
  local a = torch.linalg.solve_triangular(self._capacitance_tril, scaled, {upper = false})
  return (torch.diag_embed(self._diag:reciprocal()) - a.mT:matmul(a)):expand(matrix_shape(self))
end)

function LowRankMultivariateNormal:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local eps_factor = utils.standard_normal(sizes.slice(shape, 0, -1) .. {self.cov_factor:size(-1)}, self.loc)
  local eps_diag = utils.standard_normal(shape, self.loc)
  return self.loc + matrices.times_vector(self._factor, eps_factor) + self._diag:sqrt() * eps_diag
end

function LowRankMultivariateNormal:_log_prob(value)
  local distance = matrices.lowrank_mahalanobis(self._factor, self._diag, value - self.loc, self._capacitance_tril)
  local log_det = matrices.lowrank_logdet(self._diag, self._capacitance_tril)
  return -0.5 * (self.event_shape[1] * math.log(2 * math.pi) + log_det + distance)
end

function LowRankMultivariateNormal:_entropy()
  local log_det = matrices.lowrank_logdet(self._diag, self._capacitance_tril)
  local entropy = 0.5 * (self.event_shape[1] * (1 + math.log(2 * math.pi)) + log_det)
  return #self.batch_shape == 0 and entropy or entropy:expand(self.batch_shape)
end

return LowRankMultivariateNormal
