-- torch/distributions/multivariate/lkj_cholesky.lua: LKJCholesky: Cholesky factors of correlation matrices.

local Beta = require 'torch.distributions.beta'
local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Lower triangular Cholesky factors of correlation matrices M, with a density proportional to det(M) ^ (concentration - 1):
---uniform for concentration 1. Sampled by the onion method of Lewandowski, Kurowicka and Joe 2009, section 3.
---Arguments: dim (of the matrices, at least 2), concentration = 1 (eta), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local factor = torch.distributions.LKJCholesky(3, 0.5):sample()
---assert(torch.allclose(factor:mm(factor.T):diagonal(), torch.ones(3), {atol = 1e-5}))
---```
---@class distributions.LKJCholesky: distributions.Distribution
---@overload fun(dim: integer, concentration?: number|torch.Tensor, validate_args?: boolean): distributions.LKJCholesky
---@field dim integer
---@field concentration torch.Tensor
local LKJCholesky = Distribution:extend('LKJCholesky')
LKJCholesky.arg_constraints = ordered.new{{'concentration', constraints.positive}}
LKJCholesky.support = constraints.corr_cholesky
LKJCholesky._expands = {'concentration'}

local signature = args.signature('LKJCholesky', {'dim', {'concentration', 1}, {'validate_args'}})

function LKJCholesky:init(...)
  local bound = signature:bind(...)
  local dim = bound.dim
  if type(dim) ~= 'number' or dim < 2 or dim % 1 ~= 0 then
    errors.raise('argument', 'Expected dim to be an integer greater than or equal to 2. Found dim=' .. tostring(dim) .. '.')
  end
  self.dim = dim
  self.concentration = utils.broadcast_all(bound.concentration)
  local marginal = self.concentration + 0.5 * (dim - 2)
  local offset = torch.arange(dim - 1, utils.like(self.concentration))
  offset = torch.cat{torch.zeros({1}, utils.like(offset)), offset}
  self._beta = Beta(offset + 0.5, marginal:unsqueeze(-1) - 0.5 * offset)
  self:_start(self.concentration.shape, {dim, dim}, bound.validate_args)
end

function LKJCholesky:_expand_into(new, batch_shape)
  Distribution._expand_into(self, new, batch_shape)
  new.dim, new._beta = self.dim, self._beta:expand(batch_shape .. {self.dim})
end

function LKJCholesky:_sample(sample_shape)
  local y = self._beta:sample(sample_shape):unsqueeze(-1)
  local normal = torch.randn(self:_extended_shape(sample_shape), utils.like(y)):tril(-1)
  local sphere = normal / normal:norm{dim = -1, keepdim = true}
  -- The first row is 0 / 0.
  sphere[{'...', 0, torch.slice()}] = 0
  local w = torch.sqrt(y) * sphere
  local diagonal = torch.clamp(1 - torch.sum(w ^ 2, -1), {min = torch.finfo(w.dtype).tiny}):sqrt()
  return w + torch.diag_embed(diagonal)
end

-- The density of the correlation matrix times the Jacobian of the factor: the product of L_ii ^ order_i.
function LKJCholesky:_log_prob(value)
  local dim = self.dim
  local diagonal = value:diagonal{dim1 = -1, dim2 = -2}:narrow(-1, 1, dim - 1)
  local order = torch.arange(2, dim + 1, {device = self.concentration.device})
  order = 2 * (self.concentration - 1):unsqueeze(-1) + dim - order
  local unnormalized = torch.sum(order * diagonal:log(), -1)
  local alpha = self.concentration + 0.5 * (dim - 1)
  local denominator = torch.lgamma(alpha) * (dim - 1)
  local numerator = torch.mvlgamma(alpha - 0.5, dim - 1)
  return unnormalized - (0.5 * (dim - 1) * math.log(math.pi) + numerator - denominator)
end

return LKJCholesky
