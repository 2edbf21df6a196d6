-- torch/sparse.lua: torch.sparse: products and reductions of sparse tensors, which are made by x:to_sparse(),
-- x:to_sparse_csr() and torch.sparse_coo_tensor(indices, values, size).

local args = require 'base.args'
local aten = require 'torch.functions.aten'

local sparse = {}

local mm = args.signature('sparse.mm', {'mat1', 'mat2', {'reduce'}})

---Computes the product of a sparse (n, m) and a sparse or dense (m, p) matrix. PyTorch equivalent: torch.sparse.mm;
---gradients of a sparse factor are sparse.
---Arguments: mat1, mat2, reduce = nil ('sum', 'mean', 'amax' or 'amin', for CSR only).
---@param ... any
---@return torch.Tensor (n, p)
---
---```lua
---local torch = require 'torch'
---local x, y = torch.eye(2):to_sparse(), torch.ones(2, 3)
---assert(torch.equal(torch.sparse.mm(x, y), y))
---```
function sparse.mm(...)
  local p = mm:bind(...)
  if p.reduce then return aten._sparse_mm(p.mat1, p.mat2, p.reduce) end
  return aten._sparse_mm(p.mat1, p.mat2)
end

local addmm = args.signature('sparse.addmm', {'mat', 'mat1', 'mat2', {'beta', 1}, {'alpha', 1}})

---Computes beta · mat + alpha · (mat1 · mat2) with a sparse mat1. PyTorch equivalent: torch.sparse.addmm.
---Arguments: mat (n, p) dense, mat1 (n, m) sparse, mat2 (m, p) dense, {beta = 1, alpha = 1}.
---@param ... any
---@return torch.Tensor (n, p)
function sparse.addmm(...)
  local p = addmm:bind(...)
  return aten._sparse_addmm(p.mat, p.mat1, p.mat2, {beta = p.beta, alpha = p.alpha})
end

local sampled_addmm = args.signature('sparse.sampled_addmm', {'input', 'mat1', 'mat2', {'beta', 1}, {'alpha', 1}})

---As addmm, computed only where the sparse input has elements. PyTorch equivalent: torch.sparse.sampled_addmm.
---Arguments: input (n, p) CSR, mat1 (n, m), mat2 (m, p), {beta = 1, alpha = 1}.
---@param ... any
---@return torch.Tensor (n, p) CSR
function sparse.sampled_addmm(...)
  local p = sampled_addmm:bind(...)
  return aten.sparse_sampled_addmm(p.input, p.mat1, p.mat2, {beta = p.beta, alpha = p.alpha})
end

local sum = args.signature('sparse.sum', {'input', {'dim'}, {'dtype'}})

---Computes the sum over some dimensions; dense if all sparse dimensions are summed. PyTorch equivalent:
---torch.sparse.sum. Arguments: input, dim = nil (a number or a list; nil: all), dtype = nil.
---@param ... any
---@return torch.Tensor
function sparse.sum(...)
  local p = sum:bind(...)
  if p.dim then return aten._sparse_sum(p.input, p.dim, {dtype = p.dtype}) end
  return aten._sparse_sum(p.input, {dtype = p.dtype})
end

local softmax = args.signature('sparse.softmax', {'input', 'dim', {'dtype'}})

---Computes softmax along dim over the stored elements; missing ones count as -∞. PyTorch equivalent:
---torch.sparse.softmax. Arguments: input, dim, {dtype}.
---@param ... any
---@return torch.Tensor sparse
function sparse.softmax(...)
  local p = softmax:bind(...)
  return aten._sparse_softmax(p.input, p.dim, p.dtype)
end

local log_softmax = args.signature('sparse.log_softmax', {'input', 'dim', {'dtype'}})

---Computes log(softmax); arguments as softmax. PyTorch equivalent: torch.sparse.log_softmax.
---@param ... any
---@return torch.Tensor sparse
function sparse.log_softmax(...)
  local p = log_softmax:bind(...)
  return aten._sparse_log_softmax(p.input, p.dim, p.dtype)
end

local spdiags = args.signature('sparse.spdiags', {'diagonals', 'offsets', 'shape', {'layout'}})

---Returns a sparse matrix with the rows of `diagonals` along its diagonals. PyTorch equivalent: torch.sparse.spdiags.
---Arguments: diagonals (k, n), offsets (k) int64: 0 is the main diagonal, positive ones are above it, shape {rows,
---columns}, layout = torch.sparse_coo.
---@param ... any
---@return torch.Tensor
function sparse.spdiags(...)
  local p = spdiags:bind(...)
  return aten._spdiags(p.diagonals, p.offsets, p.shape, p.layout)
end

local TYPED = 'use torch.sparse_coo_tensor(indices, values, size)'

return require 'base.namespace'('torch.sparse', {absent = {FloatTensor = TYPED, DoubleTensor = TYPED, LongTensor = TYPED}},
  sparse)
