-- torch/nn/utils/matrix.lua: reshapes weights to matrices, for spectral norms.

local class = require 'base.class'
local F = require 'torch.nn.functional'

local matrix = {}

---Returns the weight (…) as a matrix (size of dim, product of the other sizes).
---@param weight torch.Tensor
---@param dim integer
---@return torch.Tensor
function matrix.of(weight, dim)
  if dim ~= 0 then
    local order = {dim}
    for other = 0, weight:dim() - 1 do
      if other ~= dim then order[#order + 1] = other end
    end
    weight = weight:permute(order)
  end
  return weight:flatten(1)
end

---Returns the vector scaled to length 1.
---@param vector torch.Tensor (n)
---@param eps number
---@return torch.Tensor
function matrix.unit(vector, eps) return F.normalize(vector, {dim = 0, eps = eps}) end

---Returns the dimension of a layer's outputs in its weight: 1 for transposed convolutions, else 0.
---@param module nn.Module
---@return integer
function matrix.default_dim(module)
  local conv = require 'torch.nn.conv'
  for dims = 1, 3 do
    if class.is(module, conv[('ConvTranspose%dd'):format(dims)]) then return 1 end
  end
  return 0
end

return matrix
