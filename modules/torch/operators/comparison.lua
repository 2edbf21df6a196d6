-- torch/operators/comparison.lua: elementwise comparisons and logic, and selection by them.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Selects elements of two tensors by a condition.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{-1, 2}
---assert(torch.equal(torch.where(x:gt(0), x, 0), torch.tensor{0, 2}))
---```
---@param condition torch.Tensor bool
---@param input? torch.Tensor|number values where condition is true
---@param other? torch.Tensor|number values where condition is false
---@return torch.Tensor # of the broadcast shape; with only a condition, a list of the indices of its true elements, one
---  tensor for each dimension
function torch.where(condition, input, other) end

---Returns a copy of input with value where mask is true.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):masked_fill(torch.tensor{true, false}, 9)[0]:item() == 9)
---```
---@param input torch.Tensor any shape
---@param mask torch.Tensor bool, broadcasts with input
---@param value torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function torch.masked_fill(input, mask, value) end

---Returns whether both elements are nonzero.
---
---```lua
---local torch = require 'torch'
---assert(torch.logical_and(torch.tensor{true}, torch.tensor{false}):item() == false)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.logical_and(input, other) end

---Returns whether at least one element is nonzero.
---
---```lua
---local torch = require 'torch'
---assert(torch.logical_or(torch.tensor{true}, torch.tensor{false}):item() == true)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.logical_or(input, other) end

---Returns whether the element is 0. Python's operator: ~x of a bool tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.logical_not(torch.tensor{true}):item() == false)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # bool, of the shape of input
function torch.logical_not(input) end

---Computes the bitwise AND of integers or booleans.
---
---```lua
---local torch = require 'torch'
---assert(torch.bitwise_and(torch.tensor{6LL}, 3):item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.bitwise_and(input, other) end

---Returns whether the elements are equal. (x == y compares whether two variables are the same tensor.)
---
---```lua
---local torch = require 'torch'
---assert(torch.eq(torch.tensor{1, 2}, 2):sum():item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.eq(input, other) end

---Returns whether the elements differ.
---
---```lua
---local torch = require 'torch'
---assert(torch.ne(torch.tensor{1, 2}, 2):sum():item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.ne(input, other) end

---Returns input < other, elementwise.
---
---```lua
---local torch = require 'torch'
---assert(torch.lt(torch.tensor{1, 2}, 2):sum():item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.lt(input, other) end

---Returns input ≤ other, elementwise.
---
---```lua
---local torch = require 'torch'
---assert(torch.le(torch.tensor{1, 2}, 2):sum():item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.le(input, other) end

---Returns input > other, elementwise.
---
---```lua
---local torch = require 'torch'
---assert(torch.gt(torch.tensor{1, 2}, 1):sum():item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.gt(input, other) end

---Returns input ≥ other, elementwise.
---
---```lua
---local torch = require 'torch'
---assert(torch.ge(torch.tensor{1, 2}, 1):sum():item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.ge(input, other) end

---Returns whether each element is NaN.
---
---```lua
---local torch = require 'torch'
---assert(torch.isnan(torch.tensor{torch.nan}):item())
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # bool, of the shape of input
function torch.isnan(input) end

---Returns whether each element is infinite.
---
---```lua
---local torch = require 'torch'
---assert(torch.isinf(torch.tensor{torch.inf}):item())
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # bool, of the shape of input
function torch.isinf(input) end

---Returns whether each element is neither infinite nor NaN.
---
---```lua
---local torch = require 'torch'
---assert(torch.isfinite(torch.tensor{1}):item())
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # bool, of the shape of input
function torch.isfinite(input) end

---Returns whether |input - other| ≤ atol + rtol · |other|.
---
---```lua
---local torch = require 'torch'
---assert(torch.isclose(torch.ones(1), torch.tensor{1.000001}):item())
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@param rtol? number
---@param atol? number
---@param equal_nan? boolean whether NaN equals NaN
---@return torch.Tensor # bool, of the broadcast shape
function torch.isclose(input, other, rtol, atol, equal_nan) end

---Returns whether all elements are close, as in isclose.
---
---```lua
---local torch = require 'torch'
---assert(torch.allclose(torch.ones(2), torch.ones(2)))
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@param rtol? number
---@param atol? number
---@param equal_nan? boolean whether NaN equals NaN
---@return boolean
function torch.allclose(input, other, rtol, atol, equal_nan) end

---Returns whether two tensors have the same shape and equal elements.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.ones(2), torch.ones(2)) and not torch.equal(torch.ones(2), torch.ones(3)))
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor
---@return boolean
function torch.equal(input, other) end

return torch
