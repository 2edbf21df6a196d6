-- torch/distributions/shared/scale_matrix.lua: the scale of a distribution, given as covariance, as precision or as
-- Cholesky factor.

local checks = require 'torch.functions.checks'
local errors = require 'base.errors'
local matrices = require 'torch.distributions.shared.matrices'
local torch = require 'torch'

local scale_matrix = {}

local NAMES = {'covariance_matrix', 'precision_matrix', 'scale_tril'}

---Returns the given one of the three matrices.
---@param bound table arguments
---@return string name
---@return torch.Tensor matrix of at least two dimensions
function scale_matrix.given(bound)
  local given
  for _, name in ipairs(NAMES) do
    if bound[name] ~= nil then
      if given then given = nil break end
      given = name
    end
  end
  if not given then
    errors.raise('argument', 'Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.')
  end
  local matrix = checks.tensor(given, bound[given])
  if matrix:dim() < 2 then
    errors.raise('argument', given .. ' must be at least two-dimensional, with optional leading batch dimensions')
  end
  return given, matrix
end

---Returns the lower triangular Cholesky factor of the scale.
---@param name string the name that `given` returned
---@param matrix torch.Tensor
---@return torch.Tensor
function scale_matrix.tril(name, matrix)
  if name == 'scale_tril' then return matrix end
  if name == 'covariance_matrix' then return torch.linalg.cholesky(matrix) end
  return matrices.precision_to_scale_tril(matrix)
end

---Expands the matrices that are known.
---@param self table the distribution
---@param new table the expanded distribution
---@param shape integer[]
function scale_matrix.expand(self, new, shape)
  for _, name in ipairs(NAMES) do
    local value = rawget(self, name)
    if value ~= nil then new[name] = value:expand(shape) end
  end
end

return scale_matrix
