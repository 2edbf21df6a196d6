-- torch/distributions/utils.lua: torch.distributions.utils: helpers of distributions, constraints and transforms.

local F = require 'torch.nn.functional'
local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'
local repr = require 'torch.nn.repr'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'

local utils = {
  property = properties.property, lazy_property = properties.lazy_property,
  euler_constant = 0.57721566490153286060,
}

---Returns dtype and device of a tensor, as options for a similar tensor.
---@param tensor torch.Tensor
---@return table options
function utils.like(tensor) return {dtype = tensor.dtype, device = tensor.device} end

-- The first tensor among the values; the others may be numbers.
local function first_tensor(values, count)
  local found
  for i = 1, count do
    if torch.is_tensor(values[i]) then
      found = found or values[i]
    elseif type(values[i]) ~= 'number' then
      errors.raise('argument', 'Input arguments must all be instances of Number or torch.Tensor, got '
        .. repr.type_name(values[i]))
    end
  end
  return found
end

---Returns tensors of one shape. A number becomes a tensor of the first tensor's dtype and device, or of the default
---dtype.
---@param ... number|torch.Tensor
---@return torch.Tensor ...
---
---```lua
---local torch = require 'torch'
---local loc, scale = torch.distributions.utils.broadcast_all(0, torch.ones(3))
---assert(loc.shape == torch.Size{3} and scale.shape == loc.shape)
---```
function utils.broadcast_all(...)
  local values, count = {...}, select('#', ...)
  local like = first_tensor(values, count)
  local options = like and utils.like(like) or {dtype = torch.get_default_dtype()}
  for i = 1, count do
    if type(values[i]) == 'number' then values[i] = torch.tensor(values[i], options) end
  end
  return unpack(torch.broadcast_tensors(values))
end

---Returns a tensor of standard normal numbers.
---@param shape integer[]
---@param like torch.Tensor determines dtype and device
---@return torch.Tensor
function utils.standard_normal(shape, like) return torch.empty(shape, utils.like(like)):normal_() end

---Returns the sum over the last `dim` dimensions.
---@param value torch.Tensor
---@param dim integer
---@return torch.Tensor
function utils.sum_rightmost(value, dim)
  if dim == 0 then return value end
  return value:reshape(sizes.slice(value.shape, 0, -dim) .. {-1}):sum(-1)
end

---Converts logits to probabilities: the sigmoid of each, or the softmax over the last dimension.
---@param logits torch.Tensor
---@param is_binary? boolean
---@return torch.Tensor
function utils.logits_to_probs(logits, is_binary)
  if is_binary then return torch.sigmoid(logits) end
  return F.softmax(logits, {dim = -1})
end

---Returns probabilities clamped to the open interval (0, 1) by the dtype's eps.
---@param probs torch.Tensor
---@return torch.Tensor
function utils.clamp_probs(probs)
  local eps = torch.finfo(probs.dtype).eps
  return probs:clamp{min = eps, max = 1 - eps}
end

---Converts probabilities to logits: the log-odds of each, or the logarithm.
---@param probs torch.Tensor
---@param is_binary? boolean
---@return torch.Tensor
function utils.probs_to_logits(probs, is_binary)
  local clamped = utils.clamp_probs(probs)
  if is_binary then return torch.log(clamped) - torch.log1p(-clamped) end
  return torch.log(clamped)
end

local function tril_mask(n, diag, device)
  local arange = torch.arange(n, {device = device})
  return arange:lt(arange:view(-1, 1) + (diag + 1))
end

---Returns the lower triangular parts of a batch of matrices (…, D, D) as a batch of vectors, row by row.
---@param mat torch.Tensor
---@param diag? integer the last diagonal to include (0)
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local utils = torch.distributions.utils
---local mat = torch.arange(9):view(3, 3)
---assert(torch.equal(utils.tril_matrix_to_vec(mat), torch.tensor{0, 3, 4, 6, 7, 8}))
---```
function utils.tril_matrix_to_vec(mat, diag)
  diag = diag or 0
  local n = mat:size(-1)
  if diag < -n or diag >= n then
    errors.raise('argument', ('diag (%d) provided is outside [%d, %d].'):format(diag, -n, n - 1))
  end
  return mat[{'...', tril_mask(n, diag, mat.device)}]
end

---Returns the inverse of tril_matrix_to_vec, with zeros elsewhere.
---@param vec torch.Tensor (…, D (D + 1) / 2 for diag 0)
---@param diag? integer
---@return torch.Tensor (…, D, D)
function utils.vec_to_tril_matrix(vec, diag)
  diag = diag or 0
  local b = 1 + 2 * diag
  local exact = (-b + math.sqrt(b ^ 2 + 8 * vec:size(-1) + 4 * math.abs(diag) * (diag + 1))) / 2
  local n = math.floor(exact + 0.5)
  if n - exact > torch.finfo(vec.dtype).eps then
    errors.raise('argument', ('The size of last dimension is %d which cannot be expressed as the lower triangular part '
      .. 'of a square D x D matrix.'):format(vec:size(-1)))
  end
  local mat = torch.zeros(sizes.slice(vec.shape, 0, -1) .. {n, n}, utils.like(vec))
  mat[{'...', tril_mask(n, diag, vec.device)}] = vec
  return mat
end

---Returns the text of a parameter in a message, as Python's f-strings format it; for a tensor without dimensions its
---number.
---@param value any
---@param is_real? boolean whether a number is a float in Python
---@return string
function utils.text(value, is_real)
  if torch.is_tensor(value) and value:dim() == 0 then
    value, is_real = value:item(), value:is_floating_point()
  end
  if type(value) == 'number' and is_real then return repr.float(value) end
  return type(value) == 'number' and repr.value(value) or tostring(value)
end

return utils
