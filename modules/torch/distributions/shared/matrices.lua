-- torch/distributions/shared/matrices.lua: operations on batches of matrices for multivariate families.

local torch = require 'torch'
local sizes = require 'torch.distributions.shared.sizes'
local utils = require 'torch.distributions.utils'

local matrices = {}

---Computes the logarithms of the diagonal, summed: half of the log-determinant of L Lᵀ.
---@param tril torch.Tensor (…, n, n)
---@return torch.Tensor
function matrices.half_log_det(tril) return tril:diagonal{dim1 = -2, dim2 = -1}:log():sum(-1) end

---Returns a batch of matrices times a batch of vectors; both batches broadcast.
---@param matrix torch.Tensor (…, n, m)
---@param vector torch.Tensor (…, m)
---@return torch.Tensor (…, n)
function matrices.times_vector(matrix, vector) return torch.matmul(matrix, vector:unsqueeze(-1)):squeeze(-1) end

-- The range from, from + step, … below to.
local function add_range(list, from, to, step)
  for i = from, to - 1, step do list[#list + 1] = i end
end

---Computes squared Mahalanobis distances xᵀ (L Lᵀ)⁻¹ x. The batch shape of L is the right part of the batch shape of x;
---L is not repeated for the other dimensions.
---@param tril torch.Tensor (…, n, n)
---@param x torch.Tensor (…, n)
---@return torch.Tensor
function matrices.mahalanobis(tril, x)
  local n, batch_shape = x:size(-1), sizes.slice(x.shape, 0, -1)
  local tril_dims = tril:dim() - 2
  local outer = #batch_shape - tril_dims
  -- Each dimension of the batch becomes two: the part that only x has, and the part that L has too.
  local shape = {}
  for i = 1, outer do shape[i] = x.shape[i] end
  for i = 1, tril_dims do
    local of_tril, of_x = tril.shape[i], x.shape[outer + i]
    shape[#shape + 1] = of_x / of_tril
    shape[#shape + 1] = of_tril
  end
  shape[#shape + 1] = n
  local order = {}
  add_range(order, 0, outer, 1)
  add_range(order, outer, outer + 2 * tril_dims, 2)
  add_range(order, outer + 1, outer + 2 * tril_dims, 2)
  order[#order + 1] = outer + 2 * tril_dims
  x = x:reshape(shape):permute(order)
  local flat_tril = tril:reshape(-1, n, n)
  local flat_x = x:reshape(-1, flat_tril:size(0), n):permute{1, 2, 0}
  local distances = torch.linalg.solve_triangular(flat_tril, flat_x, {upper = false}):pow(2):sum(-2):t()
  local back = {}
  add_range(back, 0, outer, 1)
  for i = 0, tril_dims - 1 do
    back[#back + 1] = outer + i
    back[#back + 1] = outer + tril_dims + i
  end
  return distances:reshape(sizes.slice(x.shape, 0, -1)):permute(back):reshape(batch_shape)
end

---Computes the lower triangular L with L Lᵀ = P⁻¹.
---@param precision torch.Tensor (…, n, n)
---@return torch.Tensor
function matrices.precision_to_scale_tril(precision)
  local flipped = torch.linalg.cholesky(torch.flip(precision, {-2, -1}))
  local inverse = torch.transpose(torch.flip(flipped, {-2, -1}), -2, -1)
  local identity = torch.eye(precision:size(-1), utils.like(precision))
  return torch.linalg.solve_triangular(inverse, identity, {upper = false})
end

-- Returns the matrix with 1 added to its diagonal.
local function plus_identity(matrix)
  local n = matrix:size(-1)
  matrix = matrix:contiguous()
  matrix:view(-1, n * n)[{torch.slice(), torch.slice(nil, nil, n + 1)}]:add_(1)
  return matrix
end

---Computes the Cholesky factor of I + Wᵀ D⁻¹ W, for a covariance of W Wᵀ + D.
---@param factor torch.Tensor W (…, n, m)
---@param diag torch.Tensor D (…, n)
---@return torch.Tensor (…, m, m)
function matrices.capacitance_tril(factor, diag)
  local scaled = factor.mT / diag:unsqueeze(-2)
  return torch.linalg.cholesky(plus_identity(torch.matmul(scaled, factor)))
end

---Computes the Cholesky factor of W Wᵀ + D.
---@param factor torch.Tensor W (…, n, m)
---@param diag torch.Tensor D (…, n)
---@return torch.Tensor (…, n, n)
function matrices.lowrank_scale_tril(factor, diag)
  local root = diag:sqrt():unsqueeze(-1)
  local scaled = factor / root
  return root * torch.linalg.cholesky(plus_identity(torch.matmul(scaled, scaled.mT)))
end

---Computes the log-determinant of W Wᵀ + D.
---@param diag torch.Tensor D
---@param capacitance_tril torch.Tensor
---@return torch.Tensor
function matrices.lowrank_logdet(diag, capacitance_tril)
  return 2 * matrices.half_log_det(capacitance_tril) + diag:log():sum(-1)
end

---Computes squared Mahalanobis distances for a covariance of W Wᵀ + D.
---@param factor torch.Tensor W
---@param diag torch.Tensor D
---@param x torch.Tensor
---@param capacitance_tril torch.Tensor
---@return torch.Tensor
function matrices.lowrank_mahalanobis(factor, diag, x, capacitance_tril)
  local scaled = matrices.times_vector(factor.mT / diag:unsqueeze(-2), x)
  return (x:pow(2) / diag):sum(-1) - matrices.mahalanobis(capacitance_tril, scaled)
end

return matrices
