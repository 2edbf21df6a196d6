-- torch/operators/linalg.lua: torch.linalg: matrices and what they are made of.
--
-- Words for `rtrain doc` and for editors; never required. What can be called is in ATen's schemas.

---@meta

local linalg = {}

---The inverse of a matrix. Raises code 'argument' for a singular one.
---
---```lua
---local torch = require 'torch'
---assert(torch.allclose(torch.linalg.inv(torch.eye(2) * 2), torch.eye(2) * 0.5))
---```
---@param A torch.Tensor (…, n, n)
---@return torch.Tensor # (…, n, n)
function linalg.inv(A) end

---The determinant.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.det(torch.eye(3)):item() == 1)
---```
---@param A torch.Tensor (…, n, n)
---@return torch.Tensor # (…)
function linalg.det(A) end

---The X of A · X = B: better than inv(A) · B.
---
---```lua
---local torch = require 'torch'
---assert(torch.allclose(torch.linalg.solve(torch.eye(2) * 2, torch.ones(2)), torch.full({2}, 0.5)))
---```
---@param A torch.Tensor (…, n, n)
---@param B torch.Tensor (…, n) or (…, n, k)
---@param left? boolean false solves X · A = B
---@return torch.Tensor X of the shape of B
function linalg.solve(A, B, left) end

---The norm of vectors or matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.norm(torch.tensor{3, 4}):item() == 5)
---```
---@param input torch.Tensor any shape
---@param ord? number|string of vectors p, ±inf; of matrices also 'fro', 'nuc'; default the 2-norm of all elements
---@param dim? integer|integer[] one for vectors, two for matrices
---@param keepdim? boolean
---@param dtype? torch.dtype
---@return torch.Tensor # without dim
function linalg.norm(input, ord, dim, keepdim, dtype) end

---The singular value decomposition A = U · diag(S) · Vh; k = min(n, m).
---
---```lua
---local torch = require 'torch'
---local u, s, vh = torch.linalg.svd(torch.ones(3, 2), false)
---assert(torch.allclose(u:matmul(s:diag()):matmul(vh), torch.ones(3, 2), {atol = 1e-5}))
---```
---@param A torch.Tensor (…, n, m)
---@param full_matrices? boolean false: U and Vh without what belongs to no singular value
---@param driver? string on a GPU
---@return torch.Tensor U (…, n, n) or (…, n, k)
---@return torch.Tensor S (…, k), falling
---@return torch.Tensor Vh (…, m, m) or (…, k, m)
function linalg.svd(A, full_matrices, driver) end

---Eigenvalues and eigenvectors of a symmetric matrix.
---
---```lua
---local torch = require 'torch'
---local values = torch.linalg.eigh(torch.eye(2) * 3)
---assert(math.abs(values[0]:item() - 3) < 1e-6)
---```
---@param input torch.Tensor (…, n, n), symmetric or Hermitian
---@param UPLO? 'L'|'U' the triangle that is read
---@return torch.Tensor eigenvalues (…, n), rising
---@return torch.Tensor eigenvectors (…, n, n), in columns
function linalg.eigh(input, UPLO) end

---The QR decomposition.
---
---```lua
---local torch = require 'torch'
---local q, r = torch.linalg.qr(torch.ones(3, 2))
---assert(torch.allclose(q:matmul(r), torch.ones(3, 2), {atol = 1e-5}))
---```
---@param A torch.Tensor (…, n, m)
---@param mode? 'reduced'|'complete'|'r'
---@return torch.Tensor Q (…, n, k)
---@return torch.Tensor R (…, k, m)
function linalg.qr(A, mode) end

---The lower triangular L with input = L · Lᵀ. Raises code 'argument' where input is not positive definite.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.linalg.cholesky(torch.eye(2) * 4), torch.eye(2) * 2))
---```
---@param input torch.Tensor (…, n, n), symmetric and positive definite
---@param upper? boolean
---@return torch.Tensor # (…, n, n)
function linalg.cholesky(input, upper) end

return linalg
