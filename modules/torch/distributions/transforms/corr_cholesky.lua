-- torch/distributions/transforms/corr_cholesky.lua: CorrCholeskyTransform: vectors to Cholesky factors of correlations.

local F = require 'torch.nn.functional'
local Transform = require 'torch.distributions.transforms.transform'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Maps vectors of D (D - 1) / 2 reals to the Cholesky factor of a correlation matrix of dimension D: the tanh of each
---number becomes a partial correlation, by stick breaking in each row. Arguments: cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local factor = torch.distributions.transforms.CorrCholeskyTransform()(torch.tensor{0.1, 0.2, 0.3})
---assert(torch.allclose((factor:mm(factor.T)):diagonal(), torch.ones(3)))
---```
---@class distributions.transforms.CorrCholeskyTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.CorrCholeskyTransform
local CorrCholeskyTransform = Transform:extend('CorrCholeskyTransform')
CorrCholeskyTransform.domain = constraints.real_vector
CorrCholeskyTransform.codomain = constraints.corr_cholesky
CorrCholeskyTransform.bijective = true

-- Returns columns shifted to the right by one; the first column is 1.
local function shifted(x) return F.pad(x:narrow(-1, 0, x:size(-1) - 1), {1, 0}, {value = 1}) end

function CorrCholeskyTransform:_call(x)
  local eps = torch.finfo(x.dtype).eps
  local r = utils.vec_to_tril_matrix(torch.tanh(x):clamp{min = -1 + eps, max = 1 - eps}, -1)
  local z1m_cumprod_sqrt = (1 - r ^ 2):sqrt():cumprod(-1)
  -- Rows of unit length.
  r = r + torch.eye(r:size(-1), utils.like(r))
  return r * shifted(z1m_cumprod_sqrt)
end

function CorrCholeskyTransform:_inverse(y)
  local rest = shifted(1 - torch.cumsum(y * y, {dim = -1}))
  local t = utils.tril_matrix_to_vec(y, -1) / utils.tril_matrix_to_vec(rest, -1):sqrt()
  return (t:log1p() - t:neg():log1p()) / 2
end

function CorrCholeskyTransform:log_abs_det_jacobian(x, y)
  local y1m_cumsum = 1 - (y * y):cumsum(-1)
  local stick_breaking_logdet = 0.5 * utils.tril_matrix_to_vec(y1m_cumsum, -2):log():sum(-1)
  local tanh_logdet = -2 * (x + F.softplus(-2 * x) - math.log(2)):sum(-1)
  return stick_breaking_logdet + tanh_logdet
end

function CorrCholeskyTransform:forward_shape(shape)
  if #shape < 1 then errors.raise('argument', 'Too few dimensions on input') end
  local count = shape[#shape]
  local dim = math.floor(math.sqrt(0.25 + 2 * count) + 1)
  if dim * (dim - 1) / 2 ~= count then errors.raise('argument', 'Input is not a flattened lower-diagonal number') end
  return sizes.slice(shape, 0, -1) .. {dim, dim}
end

function CorrCholeskyTransform:inverse_shape(shape)
  if #shape < 2 then errors.raise('argument', 'Too few dimensions on input') end
  local dim = shape[#shape]
  if shape[#shape - 1] ~= dim then errors.raise('argument', 'Input is not square') end
  return sizes.slice(shape, 0, -2) .. {dim * (dim - 1) / 2}
end

return CorrCholeskyTransform
