-- torch/operators/factorization.lua: torch.linalg: factorizations, eigenvalues and singular values.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local linalg = {}

---Computes the lower triangular L with input = L · Lᵀ. Raises code 'argument' if input is not positive definite.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.linalg.cholesky(torch.eye(2) * 4), torch.eye(2) * 2))
---```
---@param input torch.Tensor (…, n, n), symmetric and positive definite
---@param upper? boolean
---@return torch.Tensor # (…, n, n)
function linalg.cholesky(input, upper) end

---As cholesky, but returns an error code instead of raising an error.
---
---```lua
---local torch = require 'torch'
---local _, info = torch.linalg.cholesky_ex(torch.eye(2))
---assert(info:item() == 0)
---```
---@param input torch.Tensor (…, n, n)
---@param upper? boolean
---@param check_errors? boolean true: raises an error instead
---@return torch.Tensor L (…, n, n)
---@return torch.Tensor # info (…) int32: 0, or the order of the minor that is not positive
function linalg.cholesky_ex(input, upper, check_errors) end

---Computes eigenvalues and eigenvectors of a square matrix. For a symmetric one eigh is faster and exact.
---
---```lua
---local torch = require 'torch'
---local values = torch.linalg.eig(torch.eye(2) * 3)
---assert(math.abs(torch.real(values)[0]:item() - 3) < 1e-6)
---```
---@param input torch.Tensor (…, n, n)
---@return torch.Tensor eigenvalues (…, n) complex, unordered
---@return torch.Tensor eigenvectors (…, n, n) complex, in columns
function linalg.eig(input) end

---Computes eigenvalues and eigenvectors of a symmetric matrix.
---
---```lua
---local torch = require 'torch'
---local values = torch.linalg.eigh(torch.eye(2) * 3)
---assert(math.abs(values[0]:item() - 3) < 1e-6)
---```
---@param input torch.Tensor (…, n, n), symmetric or Hermitian
---@param UPLO? 'L'|'U' the triangle to read
---@return torch.Tensor eigenvalues (…, n), ascending
---@return torch.Tensor eigenvectors (…, n, n), in columns
function linalg.eigh(input, UPLO) end

---Computes the eigenvalues of a square matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.eigvals(torch.eye(2)).shape[1] == 2)
---```
---@param input torch.Tensor (…, n, n)
---@return torch.Tensor # (…, n) complex
function linalg.eigvals(input) end

---Computes the eigenvalues of a symmetric matrix.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.linalg.eigvalsh(torch.eye(2) * 3)[1]:item() - 3) < 1e-6)
---```
---@param input torch.Tensor (…, n, n)
---@param UPLO? 'L'|'U' the triangle to read
---@return torch.Tensor # (…, n), ascending
function linalg.eigvalsh(input, UPLO) end

---Returns the first columns of a product of Householder matrices, given in the form of torch.geqrf.
---@param input torch.Tensor (…, n, m), m ≤ n
---@param tau torch.Tensor (…, k), k ≤ m
---@return torch.Tensor # (…, n, m)
function linalg.householder_product(input, tau) end

---Computes the LDL decomposition of a symmetric matrix, in compact form.
---@param input torch.Tensor (…, n, n)
---@param hermitian? boolean
---@return torch.Tensor # LD (…, n, n)
---@return torch.Tensor # pivots (…, n)
function linalg.ldl_factor(input, hermitian) end

---As ldl_factor, but returns an error code instead of raising an error.
---@param input torch.Tensor (…, n, n)
---@param hermitian? boolean
---@param check_errors? boolean true: raises an error instead
---@return torch.Tensor # LD (…, n, n)
---@return torch.Tensor # pivots (…, n)
---@return torch.Tensor # info (…)
function linalg.ldl_factor_ex(input, hermitian, check_errors) end

---Solves a system with a result of ldl_factor.
---@param LD torch.Tensor (…, n, n) from ldl_factor
---@param pivots torch.Tensor (…, n)
---@param B torch.Tensor (…, n, k)
---@param hermitian? boolean
---@return torch.Tensor # (…, n, k)
function linalg.ldl_solve(LD, pivots, B, hermitian) end

---Computes the LU decomposition A = P · L · U.
---
---```lua
---local torch = require 'torch'
---local p, l, u = torch.linalg.lu(torch.eye(2))
---assert(torch.equal(p:matmul(l):matmul(u), torch.eye(2)))
---```
---@param A torch.Tensor (…, n, m)
---@param pivot? boolean
---@return torch.Tensor # P (…, n, n), a permutation
---@return torch.Tensor # L (…, n, k)
---@return torch.Tensor U (…, k, m)
function linalg.lu(A, pivot) end

---Computes the LU decomposition in compact form.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.lu_factor(torch.eye(2)).shape[1] == 2)
---```
---@param A torch.Tensor (…, n, m)
---@param pivot? boolean
---@return torch.Tensor # LU (…, n, m), both triangles
---@return torch.Tensor # pivots (…, k) int32, from 1
function linalg.lu_factor(A, pivot) end

---As lu_factor, but returns an error code instead of raising an error.
---@param A torch.Tensor (…, n, m)
---@param pivot? boolean
---@param check_errors? boolean true: raises an error instead
---@return torch.Tensor # LU (…, n, m)
---@return torch.Tensor # pivots (…, k)
---@return torch.Tensor # info (…)
function linalg.lu_factor_ex(A, pivot, check_errors) end

---Solves a system with a result of lu_factor.
---
---```lua
---local torch = require 'torch'
---local lu, pivots = torch.linalg.lu_factor(torch.eye(2) * 2)
---assert(torch.linalg.lu_solve(lu, pivots, torch.ones(2, 1))[0][0]:item() == 0.5)
---```
---@param LU torch.Tensor (…, n, n) from lu_factor
---@param pivots torch.Tensor (…, n)
---@param B torch.Tensor (…, n, k)
---@param left? boolean false solves X · A = B
---@param adjoint? boolean true: solves with the adjoint matrix
---@return torch.Tensor # (…, n, k)
function linalg.lu_solve(LU, pivots, B, left, adjoint) end

---Computes the polar decomposition A = U H: U has orthonormal columns, H is symmetric and positive-semidefinite. Needs
---LibTorch 2.14.
---
---```lua
---local torch = require 'torch'
---local has_it, polar = pcall(function() return torch.linalg.polar end)
---assert(not has_it or torch.allclose((polar(torch.eye(2) * 3)), torch.eye(2)))
---```
---@param A torch.Tensor (…, m, n), m ≥ n
---@return torch.Tensor U (…, m, n)
---@return torch.Tensor H (…, n, n)
function linalg.polar(A) end

---Computes the QR decomposition.
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

---Computes the singular value decomposition A = U · diag(S) · Vh; k = min(n, m).
---
---```lua
---local torch = require 'torch'
---local u, s, vh = torch.linalg.svd(torch.ones(3, 2), false)
---assert(torch.allclose(u:matmul(s:diag()):matmul(vh), torch.ones(3, 2), {atol = 1e-5}))
---```
---@param A torch.Tensor (…, n, m)
---@param full_matrices? boolean false: U and Vh without the columns and rows that belong to no singular value
---@param driver? string on a GPU
---@return torch.Tensor U (…, n, n) or (…, n, k)
---@return torch.Tensor S (…, k), descending
---@return torch.Tensor Vh (…, m, m) or (…, k, m)
function linalg.svd(A, full_matrices, driver) end

---Computes the singular values.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.linalg.svdvals(torch.eye(2) * 3)[0]:item() - 3) < 1e-6)
---```
---@param A torch.Tensor (…, n, m)
---@param driver? string on a GPU
---@return torch.Tensor # (…, k), descending
function linalg.svdvals(A, driver) end

return linalg
