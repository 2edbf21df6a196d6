-- torch/functions/sparse_products.lua: torch.spmm and the other short names of products with a sparse matrix.

local args = require 'base.args'
local aten = require 'torch.functions.aten'

local products = {}

local spmm = args.signature('spmm', {'input', 'mat2'})

---Computes the product of a sparse (n, m) and a dense (m, p) matrix, with gradients for both, as layers of graph
---networks need it. torch.sparse.mm differs in the gradient of the sparse factor, which is sparse, too.
---Arguments: input (n, m), COO or CSR, mat2 (m, p).
---@param ... any
---@return torch.Tensor (n, p)
---
---```lua
---local torch = require 'torch'
---local edges = torch.tensor {{0, 1, 2}, {1, 2, 0}}:long()
---local adjacency = torch.sparse_coo_tensor(edges, torch.ones(3), {3, 3})
---assert(torch.spmm(adjacency, torch.arange(3):view(3, 1):float()):tolist()[3][1] == 0)
---```
function products.spmm(...)
  local p = spmm:bind(...)
  return aten.mm(p.input, p.mat2)
end

---Another name of spmm.
products.dsmm = products.spmm

local hsmm = args.signature('hsmm', {'mat1', 'mat2'})

---Returns the product of a sparse and a dense matrix as a hybrid tensor: sparse rows of dense values. The same as
---torch.hspmm. Arguments: mat1 (n, m) COO, mat2 (m, p).
---@param ... any
---@return torch.Tensor (n, p) COO
function products.hsmm(...)
  local p = hsmm:bind(...)
  return aten.hspmm(p.mat1, p.mat2)
end

local saddmm = args.signature('saddmm', {'input', 'mat1', 'mat2', {'beta', 1}, {'alpha', 1}})

---Computes beta · input + alpha · (mat1 · mat2) with a sparse input and mat1. The same as torch.sspaddmm.
---Arguments: input (n, p) COO, mat1 (n, m) COO, mat2 (m, p), {beta = 1, alpha = 1}.
---@param ... any
---@return torch.Tensor (n, p) COO
function products.saddmm(...)
  local p = saddmm:bind(...)
  return aten.sspaddmm(p.input, p.mat1, p.mat2, {beta = p.beta, alpha = p.alpha})
end

return products
