-- torch/operators/reduction.lua: functions of many elements: sums, extremes, sorting, counting.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Computes the sum of elements; integers are summed in int64.
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(2, 3)
---assert(x:sum():item() == 6 and x:sum(1).shape[1] == 2)
---assert(x:sum(1, {keepdim = true}).shape[2] == 1)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@param dtype? torch.dtype of the sum
---@return torch.Tensor # without the reduced dimensions; () if all are reduced
function torch.sum(input, dim, keepdim, dtype) end

---Computes the mean of floating-point elements.
---
---```lua
---local torch = require 'torch'
---assert(torch.mean(torch.tensor{1, 3}):item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@param dtype? torch.dtype of the sum
---@return torch.Tensor # without the reduced dimensions; () if all are reduced
function torch.mean(input, dim, keepdim, dtype) end

---Computes the product of elements.
---
---```lua
---local torch = require 'torch'
---assert(torch.prod(torch.tensor{2, 3}):item() == 6)
---```
---@param input torch.Tensor any shape
---@param dim? integer default: all
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@param dtype? torch.dtype of the result
---@return torch.Tensor # without the reduced dimensions; () if all are reduced
function torch.prod(input, dim, keepdim, dtype) end

---Returns the greatest element: of all elements, along dim, or of two tensors.
---
---```lua
---local torch = require 'torch'
---local values, indices = torch.max(torch.tensor{{1, 5}, {7, 2}}, 1)
---assert(values[0]:item() == 5 and indices[1]:item() == 0)
---assert(torch.tensor{1, 5}:max():item() == 5)
---```
---@param input torch.Tensor any shape
---@param other? torch.Tensor as in torch.maximum
---@param dim? integer with dim, values and indices are returned
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # values: a tensor of shape () for all elements, else without dim
---@return torch.Tensor indices int64, positions along dim
function torch.max(input, other, dim, keepdim) end

---Returns the smallest element: of all elements, along dim, or of two tensors.
---
---```lua
---local torch = require 'torch'
---assert(torch.tensor{4, 2}:min():item() == 2)
---```
---@param input torch.Tensor any shape
---@param other? torch.Tensor as in torch.minimum
---@param dim? integer with dim, values and indices are returned
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # values: a tensor of shape () for all elements, else without dim
---@return torch.Tensor indices int64, positions along dim
function torch.min(input, other, dim, keepdim) end

---Returns the greatest elements, without indices; equal elements share the gradient.
---
---```lua
---local torch = require 'torch'
---assert(torch.amax(torch.tensor{{1, 5}, {7, 2}}, {0, 1}):item() == 7)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # without the reduced dimensions; () if all are reduced
function torch.amax(input, dim, keepdim) end

---Returns the smallest elements, without indices; equal elements share the gradient.
---
---```lua
---local torch = require 'torch'
---assert(torch.amin(torch.tensor{{1, 5}, {7, 2}}, 0)[1]:item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # without the reduced dimensions; () if all are reduced
function torch.amin(input, dim, keepdim) end

---Returns the index of the greatest element: along dim, or in the flattened tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.argmax(torch.tensor{{1, 5}, {7, 2}}, 1)[0]:item() == 1)
---```
---@param input torch.Tensor any shape
---@param dim? integer default: flattened
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # int64, without dim
function torch.argmax(input, dim, keepdim) end

---Returns the index of the smallest element: along dim, or in the flattened tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.argmin(torch.tensor{3, 1, 2}):item() == 1)
---```
---@param input torch.Tensor any shape
---@param dim? integer default: flattened
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # int64, without dim
function torch.argmin(input, dim, keepdim) end

---Computes the standard deviation.
---
---```lua
---local torch = require 'torch'
---assert(torch.std(torch.tensor{1, 3}, {correction = 0, dim = 0}):item() == 1)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param correction? number subtracted from the count, default 1
---@param unbiased? boolean true: correction 1
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # without the reduced dimensions; () if all are reduced
function torch.std(input, dim, correction, unbiased, keepdim) end

---Computes the variance.
---
---```lua
---local torch = require 'torch'
---assert(torch.var(torch.tensor{1, 3}):item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param correction? number subtracted from the count, default 1
---@param unbiased? boolean true: correction 1
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # without the reduced dimensions; () if all are reduced
function torch.var(input, dim, correction, unbiased, keepdim) end

---Computes both variance and mean.
---
---```lua
---local torch = require 'torch'
---local var, mean = torch.var_mean(torch.tensor{1, 3})
---assert(var:item() == 2 and mean:item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param correction? number subtracted from the count, default 1
---@param unbiased? boolean true: correction 1
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # variance
---@return torch.Tensor # mean
function torch.var_mean(input, dim, correction, unbiased, keepdim) end

---Computes both standard deviation and mean.
---
---```lua
---local torch = require 'torch'
---local _, mean = torch.std_mean(torch.tensor{1, 3})
---assert(mean:item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param correction? number subtracted from the count, default 1
---@param unbiased? boolean true: correction 1
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # standard deviation
---@return torch.Tensor # mean
function torch.std_mean(input, dim, correction, unbiased, keepdim) end

---Computes log(Σ exp(input)), computed stably.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.logsumexp(torch.zeros(4), 0):item() - math.log(4)) < 1e-6)
---```
---@param input torch.Tensor any shape
---@param dim integer|integer[]
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # without the reduced dimensions; () if all are reduced
function torch.logsumexp(input, dim, keepdim) end

---Computes cumulative sums along dim.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.cumsum(torch.ones(3), 0), torch.tensor{1, 2, 3}))
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param dtype? torch.dtype of the result
---@return torch.Tensor # of the shape of input
function torch.cumsum(input, dim, dtype) end

---Computes cumulative products along dim.
---
---```lua
---local torch = require 'torch'
---assert(torch.cumprod(torch.full({3}, 2), 0)[2]:item() == 8)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param dtype? torch.dtype of the result
---@return torch.Tensor # of the shape of input
function torch.cumprod(input, dim, dtype) end

---Returns whether all elements are nonzero.
---
---```lua
---local torch = require 'torch'
---assert(torch.all(torch.tensor{true, true}):item())
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # bool, without the reduced dimensions
function torch.all(input, dim, keepdim) end

---Returns whether at least one element is nonzero.
---
---```lua
---local torch = require 'torch'
---assert(torch.any(torch.tensor{false, true}):item())
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor # bool, without the reduced dimensions
function torch.any(input, dim, keepdim) end

---Returns how many elements are nonzero.
---
---```lua
---local torch = require 'torch'
---assert(torch.count_nonzero(torch.tensor{0, 3, 4}):item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] dimensions to reduce, default: all
---@return torch.Tensor # int64
function torch.count_nonzero(input, dim) end

---Returns the median; for an even number of elements the smaller one of the two in the middle.
---
---```lua
---local torch = require 'torch'
---assert(torch.median(torch.tensor{3, 1, 2}):item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim? integer with dim, values and indices are returned
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor values without dim
---@return torch.Tensor indices int64, positions along dim
function torch.median(input, dim, keepdim) end

---Returns the most frequent element along dim; among equally frequent elements the smallest.
---
---```lua
---local torch = require 'torch'
---assert((torch.mode(torch.tensor{2, 2, 1})):item() == 2)
---```
---@param input torch.Tensor any shape
---@param dim? integer
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor values without dim
---@return torch.Tensor indices int64, positions along dim
function torch.mode(input, dim, keepdim) end

---Returns the q-quantile: the value below which the share q of the elements lies.
---
---```lua
---local torch = require 'torch'
---assert(torch.quantile(torch.tensor{0, 1, 2, 3}, 0.5):item() == 1.5)
---```
---@param input torch.Tensor any shape
---@param q number|torch.Tensor in 0 … 1
---@param dim? integer default: flattened
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@param interpolation? 'linear'|'lower'|'higher'|'midpoint'|'nearest' between two elements
---@return torch.Tensor # (q, …) if q has a dimension
function torch.quantile(input, q, dim, keepdim, interpolation) end

---Returns the k greatest elements along dim, with their indices.
---
---```lua
---local torch = require 'torch'
---local values, indices = torch.topk(torch.tensor{1, 9, 5}, 2)
---assert(values[0]:item() == 9 and indices[1]:item() == 2)
---```
---@param input torch.Tensor any shape
---@param k integer
---@param dim? integer
---@param largest? boolean false: the smallest elements
---@param sorted? boolean whether the results are sorted
---@return torch.Tensor values of length k along dim
---@return torch.Tensor indices int64
function torch.topk(input, k, dim, largest, sorted) end

---Sorts along dim.
---
---```lua
---local torch = require 'torch'
---local values, indices = torch.sort(torch.tensor{3, 1, 2})
---assert(values[0]:item() == 1 and indices[0]:item() == 1)
---```
---@param input torch.Tensor any shape
---@param dim? integer
---@param descending? boolean
---@param stable? boolean true: equal elements keep their order
---@return torch.Tensor values of the shape of input
---@return torch.Tensor indices int64
function torch.sort(input, dim, descending, stable) end

---Returns the indices that sort along dim.
---
---```lua
---local torch = require 'torch'
---assert(torch.argsort(torch.tensor{3, 1, 2})[0]:item() == 1)
---```
---@param input torch.Tensor any shape
---@param dim? integer
---@param descending? boolean
---@param stable? boolean true: equal elements keep their order
---@return torch.Tensor # int64, of the shape of input
function torch.argsort(input, dim, descending, stable) end

---Returns the k-th smallest element along dim.
---
---```lua
---local torch = require 'torch'
---assert((torch.kthvalue(torch.tensor{3, 1, 2}, 2)):item() == 2)
---```
---@param input torch.Tensor any shape
---@param k integer from 1
---@param dim? integer
---@param keepdim? boolean true: keeps reduced dimensions, with length 1
---@return torch.Tensor values without dim
---@return torch.Tensor indices int64, positions along dim
function torch.kthvalue(input, k, dim, keepdim) end

---Counts how often each integer occurs.
---
---```lua
---local torch = require 'torch'
---assert(torch.bincount(torch.tensor{1LL, 1LL, 3LL})[1]:item() == 2)
---```
---@param input torch.Tensor (n) of integers from 0
---@param weights? torch.Tensor (n): summed instead of counted
---@param minlength? integer minimal length of the result
---@return torch.Tensor # (max(input) + 1)
function torch.bincount(input, weights, minlength) end

---Computes a histogram with bins of equal width.
---
---```lua
---local torch = require 'torch'
---assert(torch.histc(torch.tensor{1, 2, 1}, 2, 0, 3)[0]:item() == 2)
---```
---@param input torch.Tensor any shape
---@param bins? integer
---@param min? number
---@param max? number min = max = 0: the range of the elements
---@return torch.Tensor # (bins)
function torch.histc(input, bins, min, max) end

return torch
