-- torch/operators/indexing.lua: reads and writes parts of tensors by indices or masks.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Returns a range of one dimension. The same by index: x[torch.slice(start, stop)].
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(5):narrow(0, 1, 3)[0]:item() == 1)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param start integer|torch.Tensor
---@param length integer
---@return torch.Tensor # a view
function torch.narrow(input, dim, start, length) end

---Returns one slice along a dimension. Along the first dimension the same by index: x[i].
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):select(1, 0).shape[1] == 2)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param index integer negative: counted from the end
---@return torch.Tensor # a view without dim
function torch.select(input, dim, index) end

---Selects slices along a dimension by their indices.
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(4):index_select(0, torch.tensor{3LL, 0LL})[0]:item() == 3)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param index torch.Tensor (k) int64
---@return torch.Tensor # of length k along dim
function torch.index_select(input, dim, index) end

---Returns for each entry of index the element at this position along dim.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{{1, 2}, {3, 4}}
---assert(x:gather(1, torch.tensor{{1LL}, {0LL}})[0][0]:item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param index torch.Tensor int64, with as many dimensions as input
---@param sparse_grad? boolean
---@return torch.Tensor # of the shape of index
function torch.gather(input, dim, index, sparse_grad) end

---Returns a copy of input with src written to the positions along dim given by index.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(3):scatter(0, torch.tensor{1LL}, 5)[1]:item() == 5)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param index torch.Tensor int64, with as many dimensions as input
---@param src? torch.Tensor of at least the shape of index
---@param value? number instead of src
---@param reduce? 'add'|'multiply'
---@return torch.Tensor # of the shape of input
function torch.scatter(input, dim, index, src, value, reduce) end

---Returns a copy of input with src added at the positions along dim given by index.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):scatter_add(0, torch.tensor{1LL, 1LL}, torch.ones(2))[1]:item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param index torch.Tensor int64, with as many dimensions as input
---@param src torch.Tensor of at least the shape of index
---@return torch.Tensor # of the shape of input
function torch.scatter_add(input, dim, index, src) end

---Returns a copy of input with src combined at the positions along dim given by index.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):scatter_reduce(0, torch.tensor{0LL, 0LL}, torch.tensor{4, 7}, 'amax')[0]:item() == 7)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param index torch.Tensor int64, with as many dimensions as input
---@param src torch.Tensor of at least the shape of index
---@param reduce 'sum'|'prod'|'mean'|'amax'|'amin'
---@param include_self? boolean whether the values of input are included
---@return torch.Tensor # of the shape of input
function torch.scatter_reduce(input, dim, index, src, reduce, include_self) end

---Returns a copy of input with alpha · source added to the slices given by index.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):index_add(0, torch.tensor{1LL, 1LL}, torch.ones(2))[1]:item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param index torch.Tensor (k) int64
---@param source torch.Tensor of length k along dim
---@param alpha? number
---@return torch.Tensor # of the shape of input
function torch.index_add(input, dim, index, source, alpha) end

---Returns elements of the flattened tensor by their indices.
---
---```lua
---local torch = require 'torch'
---assert(torch.tensor{{1, 2}, {3, 4}}:take(torch.tensor{3LL})[0]:item() == 4)
---```
---@param input torch.Tensor any shape
---@param index torch.Tensor int64, positions in the flattened input
---@return torch.Tensor # of the shape of index
function torch.take(input, index) end

---Returns elements along a dimension by their indices; input and indices broadcast.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{3, 1}
---assert(torch.equal(x:take_along_dim(x:argsort(), 0), torch.tensor{1, 3}))
---```
---@param input torch.Tensor any shape
---@param indices torch.Tensor int64, from argsort or argmax
---@param dim? integer default: flattened
---@return torch.Tensor
function torch.take_along_dim(input, indices, dim) end

---Returns the elements where mask is true. The same by index: x[mask].
---
---```lua
---local torch = require 'torch'
---assert(torch.tensor{1, 5}:masked_select(torch.tensor{false, true}):item() == 5)
---```
---@param input torch.Tensor any shape
---@param mask torch.Tensor bool, broadcasts with input
---@return torch.Tensor # (count), a copy
function torch.masked_select(input, mask) end

---Replaces the elements where mask is true by the elements of source, in order.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):masked_scatter(torch.tensor{false, true}, torch.ones(1))[1]:item() == 1)
---```
---@param input torch.Tensor any shape
---@param mask torch.Tensor bool, broadcasts with input
---@param source torch.Tensor with at least as many elements as mask selects
---@return torch.Tensor # a copy
function torch.masked_scatter(input, mask, source) end

---Replaces slices along a dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):index_copy(0, torch.tensor{1LL}, torch.ones(1))[1]:item() == 1)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param index torch.Tensor (k) int64
---@param source torch.Tensor of length k along dim
---@return torch.Tensor # a copy
function torch.index_copy(input, dim, index, source) end

---Returns the positions at which elements would be inserted into a sorted sequence.
---
---```lua
---local torch = require 'torch'
---assert(torch.searchsorted(torch.tensor{1, 3, 5}, 3):item() == 1)
---```
---@param sorted_sequence torch.Tensor (…, n), ascending
---@param input torch.Tensor|number
---@param out_int32? boolean
---@param right? boolean true: after equal elements
---@param side? 'left'|'right' the same as a word
---@param sorter? torch.Tensor indices that sort the sequence
---@return torch.Tensor # int64, of the shape of input
function torch.searchsorted(sorted_sequence, input, out_int32, right, side, sorter) end

return torch
