-- torch/distributions/multivariate/wishart.lua: Wishart: positive-definite matrices.

local Chi2 = require 'torch.distributions.chi2'
local ExponentialFamily = require 'torch.distributions.exponential_family'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local matrices = require 'torch.distributions.shared.matrices'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local scale_matrix = require 'torch.distributions.shared.scale_matrix'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'
local warnings = require 'base.warnings'

---Positive-definite matrices: sums of df outer products of normal vectors. Exactly one of the three matrices is given.
---Arguments: df (degrees of freedom, more than n - 1), {covariance_matrix ((…, n, n)), precision_matrix (its inverse),
---scale_tril (its lower triangular Cholesky factor), validate_args}.
---
---```lua
---local torch = require 'torch'
---local wishart = torch.distributions.Wishart(torch.tensor(3), {covariance_matrix = torch.eye(2)})
---assert(wishart:rsample().shape == torch.Size{2, 2} and torch.equal(wishart.mean, 3 * torch.eye(2)))
---```
---@class distributions.Wishart: distributions.ExponentialFamily
---@overload fun(df: number|torch.Tensor, covariance_matrix?: torch.Tensor, ...: any): distributions.Wishart
---@field df torch.Tensor
---@field covariance_matrix torch.Tensor (…, n, n)
---@field precision_matrix torch.Tensor (…, n, n)
---@field scale_tril torch.Tensor (…, n, n)
local Wishart = ExponentialFamily:extend('Wishart')
Wishart.support = constraints.positive_definite
Wishart.has_rsample = true
Wishart._mean_carrier_measure = 0

Wishart.arg_constraints = properties.property(function(self)
  return ordered.new{
    {'covariance_matrix', constraints.positive_definite}, {'precision_matrix', constraints.positive_definite},
    {'scale_tril', constraints.lower_cholesky}, {'df', constraints.greater_than(self.event_shape[2] - 1)}}
end)

local signature = args.signature('Wishart', {'df', {'covariance_matrix'}, {'precision_matrix'}, {'scale_tril'},
  {'validate_args'}})

-- Returns the distribution of the diagonal of the Bartlett decomposition.
local function diagonal_of(self, n)
  return Chi2(self.df:unsqueeze(-1) - torch.arange(n, utils.like(self._tril)):expand(self.df.shape .. {-1}))
end

local function check_df(df, n)
  if df:le(n - 1):any():item() then
    errors.raise('argument', ('Value of df=%s expected to be greater than ndim - 1 = %d.'):format(utils.text(df, true),
      n - 1))
  end
  if df:lt(n):any():item() then
    warnings.warn('Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.')
  end
end

function Wishart:init(...)
  local bound = signature:bind(...)
  local name, matrix = scale_matrix.given(bound)
  local batch_shape, n = sizes.slice(matrix.shape, 0, -2), matrix:size(-1)
  if torch.is_tensor(bound.df) then
    batch_shape = sizes.broadcast(batch_shape, bound.df.shape)
    self.df = bound.df:expand(batch_shape)
  else
    self.df = torch.tensor(bound.df, utils.like(matrix))
  end
  check_df(self.df, n)
  self[name] = matrix:expand(batch_shape .. {-1, -1})
  self:_start(batch_shape, sizes.slice(matrix.shape, -2), bound.validate_args)
  self._tril = scale_matrix.tril(name, matrix)
  self._chi2 = diagonal_of(self, n)
end

function Wishart:_expand_into(new, batch_shape)
  local shape = batch_shape .. self.event_shape
  new._tril, new.df = self._tril:expand(shape), self.df:expand(batch_shape)
  scale_matrix.expand(self, new, shape)
  new._chi2 = diagonal_of(new, self.event_shape[1])
end

Wishart.scale_tril = properties.lazy_property(function(self)
  return self._tril:expand(self.batch_shape .. self.event_shape)
end)

Wishart.covariance_matrix = properties.lazy_property(function(self)
  return self._tril:matmul(self._tril.mT):expand(self.batch_shape .. self.event_shape)
end)

Wishart.precision_matrix = properties.lazy_property(function(self)
  local identity = torch.eye(self.event_shape[1], utils.like(self._tril))
  return torch.cholesky_solve(identity, self._tril):expand(self.batch_shape .. self.event_shape)
end)

-- Multiplies the matrix of each distribution by its number.
local function scaled(self, factor, matrix) return factor:reshape(self.batch_shape .. {1, 1}) * matrix end

Wishart.mean = properties.property(function(self) return scaled(self, self.df, self.covariance_matrix) end)

Wishart.mode = properties.property(function(self)
  local factor = self.df - self.event_shape[1] - 1
  factor[factor:le(0)] = torch.nan
  return scaled(self, factor, self.covariance_matrix)
end)

Wishart.variance = properties.property(function(self)
  local covariance = self.covariance_matrix
  local diagonal = covariance:diagonal{dim1 = -2, dim2 = -1}
  return scaled(self, self.df, covariance:pow(2) + torch.einsum('...i,...j->...ij', diagonal, diagonal))
end)

-- By the Bartlett decomposition.
local function draw(self, sample_shape)
  local p = self.event_shape[1]
  local diagonal = self._chi2:rsample(sample_shape):sqrt()
  local noise = diagonal:clamp{min = torch.finfo(diagonal.dtype).eps}:diag_embed{dim1 = -2, dim2 = -1}
  local i, j = unpack(torch.tril_indices(p, p, -1):unbind())
  noise[{'...', i, j}] = torch.randn(torch.Size(sample_shape) .. self.batch_shape .. {p * (p - 1) / 2}, utils.like(noise))
  local factor = self._tril:matmul(noise)
  return factor:matmul(factor.mT)
end

-- Returns for each sample whether any matrix of its batch has the property.
local function any_of_batch(self, flags)
  local dims = {}
  for i = 1, #self.batch_shape do dims[i] = -i end
  return #dims > 0 and flags:amax(dims) or flags
end

local TRIES = 10

function Wishart:_rsample(sample_shape)
  local sample = draw(self, sample_shape)
  -- As PyTorch, which reports positive-definite samples as singular in the first draw: the second draw counts.
  local again = any_of_batch(self, self.support:check(sample))
  for _ = 1, TRIES do
    if not again:any():item() then break end
    local drawn = draw(self, again[again].shape)
    sample[again] = drawn
    -- A new mask: the graph keeps the old one.
    local left = again:clone()
    left[again] = any_of_batch(self, self.support:check(drawn):logical_not())
    again = left
  end
  return sample
end

function Wishart:_log_prob(value)
  local nu, p = self.df, self.event_shape[1]
  local _, logabsdet = torch.linalg.slogdet(value)
  local trace = torch.cholesky_solve(value, self._tril):diagonal{dim1 = -2, dim2 = -1}:sum(-1)
  return -nu * (p * math.log(2) / 2 + matrices.half_log_det(self._tril)) - torch.mvlgamma(nu / 2, p)
    + (nu - p - 1) / 2 * logabsdet - trace / 2
end

local function mvdigamma(x, p)
  local halves = torch.arange(p, utils.like(x)):div(2):expand(x.shape .. {-1})
  return torch.digamma(x:unsqueeze(-1) - halves):sum(-1)
end

function Wishart:_entropy()
  local nu, p = self.df, self.event_shape[1]
  return (p + 1) * (p * math.log(2) / 2 + matrices.half_log_det(self._tril)) + torch.mvlgamma(nu / 2, p)
    - (nu - p - 1) / 2 * mvdigamma(nu / 2, p) + nu * p / 2
end

Wishart._natural_params = properties.property(function(self)
  return {-self.precision_matrix / 2, (self.df - self.event_shape[1] - 1) / 2}
end)

function Wishart:_log_normalizer(x, y)
  local p = self.event_shape[1]
  local _, logabsdet = torch.linalg.slogdet(-2 * x)
  return (y + (p + 1) / 2) * (-logabsdet + math.log(2) * p) + torch.mvlgamma(y + (p + 1) / 2, p)
end

return Wishart
