-- torch/operators/linalg.lua: torch.linalg: products, norms, inverses and solutions of equations.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local linalg = {}

---Computes the condition number: the factor by which errors grow when a system is solved.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.cond(torch.eye(2)):item() == 1)
---```
---@param input torch.Tensor (…, n, n)
---@param p? number|string the norm: nil is the 2-norm
---@return torch.Tensor # (…)
function linalg.cond(input, p) end

---Computes the cross product of vectors of 3 elements.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.linalg.cross(torch.tensor{1, 0, 0}, torch.tensor{0, 1, 0}), torch.tensor{0, 0, 1}))
---```
---@param input torch.Tensor (…, 3, …)
---@param other torch.Tensor (…, 3, …)
---@param dim? integer of length 3
---@return torch.Tensor # of the broadcast shape
function linalg.cross(input, other, dim) end

---Computes the determinant.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.det(torch.eye(3)):item() == 1)
---```
---@param A torch.Tensor (…, n, n)
---@return torch.Tensor # (…)
function linalg.det(A) end

---Returns the diagonals of matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.diagonal(torch.eye(3)):sum():item() == 3)
---```
---@param A torch.Tensor (…, n, m)
---@param offset? integer
---@param dim1? integer
---@param dim2? integer
---@return torch.Tensor # a view, the diagonal in its last dimension
function linalg.diagonal(A, offset, dim1, dim2) end

---Computes the inverse of a matrix. Raises code 'argument' for a singular matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.allclose(torch.linalg.inv(torch.eye(2) * 2), torch.eye(2) * 0.5))
---```
---@param A torch.Tensor (…, n, n)
---@return torch.Tensor # (…, n, n)
function linalg.inv(A) end

---As inv, but returns an error code instead of raising an error.
---
---```lua
---local torch = require 'torch'
---local _, info = torch.linalg.inv_ex(torch.zeros(2, 2))
---assert(info:item() ~= 0)
---```
---@param A torch.Tensor (…, n, n)
---@param check_errors? boolean true: raises an error instead
---@return torch.Tensor # inverse (…, n, n)
---@return torch.Tensor # info (…) int32: 0 where it exists
function linalg.inv_ex(A, check_errors) end

---Returns the least-squares solution of input · X = b.
---
---```lua
---local torch = require 'torch'
---local solution = torch.linalg.lstsq(torch.ones(3, 1), torch.ones(3, 1))
---assert(math.abs(solution:item() - 1) < 1e-5)
---```
---@param input torch.Tensor (…, n, m)
---@param b torch.Tensor (…, n) or (…, n, k)
---@param rcond? number singular values below it, relative to the largest, count as 0
---@param driver? 'gels'|'gelsy'|'gelsd'|'gelss'
---@return torch.Tensor # solution (…, m, k)
---@return torch.Tensor # residuals
---@return torch.Tensor # rank
---@return torch.Tensor # singular_values
function linalg.lstsq(input, b, rcond, driver) end

---Computes the matrix product, as torch.matmul.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.matmul(torch.ones(2, 3), torch.ones(3, 2))[0][0]:item() == 3)
---```
---@param input torch.Tensor (…, n, k), or (k)
---@param other torch.Tensor (…, k, m), or (k)
---@return torch.Tensor # (…, n, m)
function linalg.matmul(input, other) end

---Computes the exponential of a matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.linalg.matrix_exp(torch.zeros(2, 2)), torch.eye(2)))
---```
---@param input torch.Tensor (…, n, n)
---@return torch.Tensor # (…, n, n)
function linalg.matrix_exp(input) end

---Computes the square root of a symmetric, or Hermitian, positive-definite matrix. Needs LibTorch 2.14.
---
---```lua
---local torch = require 'torch'
---local has_it, root = pcall(function() return torch.linalg.matrix_sqrth end)
---assert(not has_it or torch.allclose(root(torch.eye(2) * 9), torch.eye(2) * 3))
---```
---@param input torch.Tensor (…, n, n): its lower triangle is read
---@return torch.Tensor # (…, n, n)
function linalg.matrix_sqrth(input) end

---Computes the norm of matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.matrix_norm(torch.ones(2, 2)):item() == 2)
---```
---@param input torch.Tensor (…, n, m)
---@param ord? number|string 'fro', 'nuc', ±inf, ±1, ±2
---@param dim? integer[] the two dimensions of the matrices
---@param keepdim? boolean
---@param dtype? torch.dtype
---@return torch.Tensor # without dim
function linalg.matrix_norm(input, ord, dim, keepdim, dtype) end

---Computes a power of a matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.matrix_power(torch.eye(2) * 2, 3)[0][0]:item() == 8)
---```
---@param input torch.Tensor (…, n, n)
---@param n integer negative: a power of the inverse
---@return torch.Tensor # (…, n, n)
function linalg.matrix_power(input, n) end

---Returns the rank of matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.matrix_rank(torch.ones(3, 3)):item() == 1)
---```
---@param input torch.Tensor (…, n, m)
---@param tol? number|torch.Tensor singular values up to it count as 0
---@param atol? number|torch.Tensor
---@param rtol? number|torch.Tensor relative to the largest
---@param hermitian? boolean
---@return torch.Tensor # (…) int64
function linalg.matrix_rank(input, tol, atol, rtol, hermitian) end

---Computes the product of several matrices, in the cheapest order.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.multi_dot{torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1)}[0]:item() == 12)
---```
---@param tensors torch.Tensor[] matrices; the first and the last may be vectors
---@return torch.Tensor
function linalg.multi_dot(tensors) end

---Computes the norm of vectors or matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.norm(torch.tensor{3, 4}):item() == 5)
---```
---@param input torch.Tensor any shape
---@param ord? number|string of vectors p, ±inf; of matrices also 'fro', 'nuc'; default the 2-norm of all elements
---@param dim? integer|integer[] one dimension for vectors, two for matrices
---@param keepdim? boolean
---@param dtype? torch.dtype
---@return torch.Tensor # without dim
function linalg.norm(input, ord, dim, keepdim, dtype) end

---Computes the pseudoinverse (Moore-Penrose).
---
---```lua
---local torch = require 'torch'
---assert(torch.allclose(torch.linalg.pinv(torch.eye(2) * 2), torch.eye(2) * 0.5))
---```
---@param input torch.Tensor (…, n, m)
---@param rcond? number|torch.Tensor relative to the largest singular value
---@param atol? number|torch.Tensor
---@param rtol? number|torch.Tensor
---@param hermitian? boolean
---@return torch.Tensor # (…, m, n)
function linalg.pinv(input, rcond, atol, rtol, hermitian) end

---Computes sign and logarithm of the determinant, for determinants that are too large or too small.
---
---```lua
---local torch = require 'torch'
---local sign = torch.linalg.slogdet(torch.eye(2))
---assert(sign:item() == 1)
---```
---@param A torch.Tensor (…, n, n)
---@return torch.Tensor # sign (…)
---@return torch.Tensor # logabsdet (…)
function linalg.slogdet(A) end

---Returns the X of A · X = B: more exact than inv(A) · B.
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

---As solve, but returns an error code instead of raising an error.
---@param A torch.Tensor (…, n, n)
---@param B torch.Tensor (…, n) or (…, n, k)
---@param left? boolean false solves X · A = B
---@param check_errors? boolean true: raises an error instead
---@return torch.Tensor # result of the shape of B
---@return torch.Tensor # info (…)
function linalg.solve_ex(A, B, left, check_errors) end

---Solves a system with a triangular matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.solve_triangular(torch.eye(2) * 2, torch.ones(2, 1), {upper = true})[0][0]:item() == 0.5)
---```
---@param input torch.Tensor (…, n, n), triangular
---@param B torch.Tensor (…, n, k)
---@param upper boolean
---@param left? boolean false solves X · input = B
---@param unitriangular? boolean treats the diagonal as ones
---@return torch.Tensor # of the shape of B
function linalg.solve_triangular(input, B, upper, left, unitriangular) end

---Computes the inverse for torch.tensordot.
---@param input torch.Tensor its first ind dimensions have as many elements as the others
---@param ind? integer
---@return torch.Tensor
function linalg.tensorinv(input, ind) end

---Returns the X with torch.tensordot(input, X) = other.
---@param input torch.Tensor
---@param other torch.Tensor
---@param dims? integer[] dimensions of input to move to its end
---@return torch.Tensor
function linalg.tensorsolve(input, other, dims) end

---Returns the matrix of the powers of x, starting with power 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.vander(torch.tensor{2, 3})[1][1]:item() == 3)
---```
---@param x torch.Tensor (…, n)
---@param N? integer columns, default n
---@return torch.Tensor # (…, n, N)
function linalg.vander(x, N) end

---Computes the dot products of vectors.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.vecdot(torch.ones(2, 3), torch.ones(2, 3))[1]:item() == 3)
---```
---@param x torch.Tensor (…, n)
---@param y torch.Tensor (…, n)
---@param dim? integer
---@return torch.Tensor # (…)
function linalg.vecdot(x, y, dim) end

---Computes the norm of vectors.
---
---```lua
---local torch = require 'torch'
---assert(torch.linalg.vector_norm(torch.tensor{3, 4}):item() == 5)
---```
---@param input torch.Tensor any shape
---@param ord? number p, ±inf, 0
---@param dim? integer|integer[] default: all
---@param keepdim? boolean
---@param dtype? torch.dtype
---@return torch.Tensor # without dim
function linalg.vector_norm(input, ord, dim, keepdim, dtype) end

return linalg
