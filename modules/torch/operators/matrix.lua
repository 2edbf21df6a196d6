-- torch/operators/matrix.lua: products of vectors and matrices, and their triangular parts.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Computes the matrix product; of two vectors the dot product. Python's operator: x @ y.
---
---```lua
---local torch = require 'torch'
---local a, b = torch.ones(10, 3, 4), torch.ones(4, 5)
---assert(torch.matmul(a, b).shape[3] == 5)
---assert(a[0]:matmul(b)[0][0]:item() == 4)
---```
---@param input torch.Tensor (…, n, k), or (k)
---@param other torch.Tensor (…, k, m), or (k)
---@return torch.Tensor # (…, n, m): the first dimensions broadcast; a vector loses its dimension
function torch.matmul(input, other) end

---Computes the product of two matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.mm(torch.ones(2, 3), torch.ones(3, 4))[0][0]:item() == 3)
---```
---@param input torch.Tensor (n, k)
---@param mat2 torch.Tensor (k, m)
---@param out_dtype? torch.dtype of the result
---@return torch.Tensor # (n, m)
function torch.mm(input, mat2, out_dtype) end

---Computes the products of two batches of matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.bmm(torch.ones(5, 2, 3), torch.ones(5, 3, 4)).shape[1] == 5)
---```
---@param input torch.Tensor (b, n, k)
---@param mat2 torch.Tensor (b, k, m)
---@param out_dtype? torch.dtype of the result
---@return torch.Tensor # (b, n, m)
function torch.bmm(input, mat2, out_dtype) end

---Multiplies a matrix by a vector.
---
---```lua
---local torch = require 'torch'
---assert(torch.mv(torch.ones(2, 3), torch.ones(3))[0]:item() == 3)
---```
---@param input torch.Tensor (n, k)
---@param vec torch.Tensor (k)
---@return torch.Tensor # (n)
function torch.mv(input, vec) end

---Computes the dot product of two vectors.
---
---```lua
---local torch = require 'torch'
---assert(torch.dot(torch.ones(3), torch.ones(3)):item() == 3)
---```
---@param input torch.Tensor (n)
---@param tensor torch.Tensor (n)
---@return torch.Tensor # ()
function torch.dot(input, tensor) end

---Computes the product of a column and a row.
---
---```lua
---local torch = require 'torch'
---assert(torch.outer(torch.ones(2), torch.ones(3)).shape[2] == 3)
---```
---@param input torch.Tensor (n)
---@param vec2 torch.Tensor (m)
---@return torch.Tensor # (n, m)
function torch.outer(input, vec2) end

---Computes beta · input + alpha · mat1 · mat2.
---
---```lua
---local torch = require 'torch'
---assert(torch.addmm(torch.ones(2), torch.ones(2, 3), torch.ones(3, 2))[0][0]:item() == 4)
---```
---@param input torch.Tensor broadcasts to (n, m)
---@param mat1 torch.Tensor (n, k)
---@param mat2 torch.Tensor (k, m)
---@param beta? number
---@param alpha? number
---@param out_dtype? torch.dtype of the result
---@return torch.Tensor # (n, m)
function torch.addmm(input, mat1, mat2, beta, alpha, out_dtype) end

---Computes beta · input + alpha · batch1 · batch2, matrix by matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.baddbmm(torch.ones(1), torch.ones(5, 2, 3), torch.ones(5, 3, 2)).shape[1] == 5)
---```
---@param input torch.Tensor broadcasts to (b, n, m)
---@param batch1 torch.Tensor (b, n, k)
---@param batch2 torch.Tensor (b, k, m)
---@param beta? number
---@param alpha? number
---@param out_dtype? torch.dtype of the result
---@return torch.Tensor # (b, n, m)
function torch.baddbmm(input, batch1, batch2, beta, alpha, out_dtype) end

---Computes the Kronecker product.
---
---```lua
---local torch = require 'torch'
---assert(torch.kron(torch.eye(2), torch.ones(2, 2)).shape[1] == 4)
---```
---@param input torch.Tensor (a, b)
---@param other torch.Tensor (c, d)
---@return torch.Tensor # (a · c, b · d)
function torch.kron(input, other) end

---Computes the cross product of vectors of 3 elements.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.cross(torch.tensor{1, 0, 0}, torch.tensor{0, 1, 0}, 0), torch.tensor{0, 0, 1}))
---```
---@param input torch.Tensor (…, 3, …)
---@param other torch.Tensor (…, 3, …)
---@param dim? integer of length 3; default: the first such
---@return torch.Tensor # of the broadcast shape
function torch.cross(input, other, dim) end

---Computes the sum of the main diagonal.
---
---```lua
---local torch = require 'torch'
---assert(torch.trace(torch.eye(3)):item() == 3)
---```
---@param input torch.Tensor (n, m)
---@return torch.Tensor # ()
function torch.trace(input) end

---Returns the lower triangle of matrices (…, n, m); zeros elsewhere.
---
---```lua
---local torch = require 'torch'
---assert(torch.tril(torch.ones(3, 3)):sum():item() == 6)
---```
---@param input torch.Tensor any shape
---@param diagonal? integer the highest diagonal to keep: 0 is the main diagonal, positive numbers are above it
---@return torch.Tensor # of the shape of input
function torch.tril(input, diagonal) end

---Returns the upper triangle of matrices (…, n, m); zeros elsewhere.
---
---```lua
---local torch = require 'torch'
---assert(torch.triu(torch.ones(3, 3), 1):sum():item() == 3)
---```
---@param input torch.Tensor any shape
---@param diagonal? integer the lowest diagonal to keep
---@return torch.Tensor # of the shape of input
function torch.triu(input, diagonal) end

return torch
