-- torch/operators/shape.lua: views and copies in another shape, joining and splitting.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Returns the same elements in another shape.
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(6):reshape(2, -1).shape[2] == 3)
---```
---@param input torch.Tensor any shape
---@param shape integer[] one size may be -1, it is computed from the others; also as separate arguments: x:reshape(2,
---  3)
---@return torch.Tensor # (shape): a view if possible, else a copy
function torch.reshape(input, shape) end

---Joins dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3, 4):flatten(1).shape[2] == 12)
---```
---@param input torch.Tensor any shape
---@param start_dim? integer
---@param end_dim? integer
---@return torch.Tensor # with start_dim … end_dim as one dimension
function torch.flatten(input, start_dim, end_dim) end

---Splits a dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 12):unflatten(1, {3, 4}).shape[3] == 4)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param sizes integer[]
---@return torch.Tensor # with dim as several dimensions
function torch.unflatten(input, dim, sizes) end

---Drops dimensions of length 1.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(1, 3, 1):squeeze():dim() == 1)
---```
---@param input torch.Tensor any shape
---@param dim? integer|integer[] default: all
---@return torch.Tensor # a view
function torch.squeeze(input, dim) end

---Adds a dimension of length 1.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(3):unsqueeze(0).shape[1] == 1)
---```
---@param input torch.Tensor any shape
---@param dim integer position of the new dimension; -1: the last
---@return torch.Tensor # a view
function torch.unsqueeze(input, dim) end

---Exchanges two dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):transpose(0, 1).shape[1] == 3)
---```
---@param input torch.Tensor any shape
---@param dim0 integer
---@param dim1 integer
---@return torch.Tensor # a view
function torch.transpose(input, dim0, dim1) end

---Permutes dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3, 4):permute{2, 0, 1}.shape[1] == 4)
---```
---@param input torch.Tensor any shape
---@param dims integer[] the dimensions in their new order
---@return torch.Tensor # a view
function torch.permute(input, dims) end

---Moves dimensions to other places; the others keep their order.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3, 4):movedim(0, 2).shape[3] == 2)
---```
---@param input torch.Tensor any shape
---@param source integer|integer[]
---@param destination integer|integer[]
---@return torch.Tensor # a view
function torch.movedim(input, source, destination) end

---Returns the transposed matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):t().shape[1] == 3)
---```
---@param input torch.Tensor of at most 2 dimensions
---@return torch.Tensor # a view
function torch.t(input) end

---Makes a matrix with a diagonal, or returns the diagonal of a matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.diag(torch.ones(3)).shape[2] == 3)
---```
---@param input torch.Tensor (n) or (n, m)
---@param diagonal? integer positive numbers are above the main diagonal
---@return torch.Tensor # for a vector the matrix with that diagonal; for a matrix its diagonal
function torch.diag(input, diagonal) end

---Returns the diagonals of matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.eye(3):diagonal():sum():item() == 3)
---```
---@param input torch.Tensor any shape
---@param offset? integer
---@param dim1? integer
---@param dim2? integer
---@return torch.Tensor # a view, the diagonal in its last dimension
function torch.diagonal(input, offset, dim1, dim2) end

---Repeats dimensions of length 1 without copying.
---
---```lua
---local torch = require 'torch'
---assert(torch.broadcast_to(torch.ones(3), {2, 3}):sum():item() == 6)
---```
---@param input torch.Tensor any shape
---@param size integer[]
---@return torch.Tensor # (size), a view
function torch.broadcast_to(input, size) end

---Repeats the tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.tile(torch.ones(2), {3}).shape[1] == 6)
---```
---@param input torch.Tensor any shape
---@param dims integer[] number of repetitions along each dimension
---@return torch.Tensor # a copy
function torch.tile(input, dims) end

---Repeats each element.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.tensor{1, 2}:repeat_interleave(2), torch.tensor{1, 1, 2, 2}))
---```
---@param input torch.Tensor any shape
---@param repeats integer|torch.Tensor number of repetitions, the same or one for each element
---@param dim? integer default: flattened
---@param output_size? integer the length, if known
---@return torch.Tensor # a copy
function torch.repeat_interleave(input, repeats, dim, output_size) end

---Concatenates tensors along an existing dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.cat({torch.zeros(2, 3), torch.ones(1, 3)}, 0).shape[1] == 3)
---```
---@param tensors torch.Tensor[] of equal shapes, except for dim
---@param dim? integer
---@return torch.Tensor
function torch.cat(tensors, dim) end

---Stacks tensors along a new dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.stack({torch.zeros(3), torch.ones(3)}).shape[1] == 2)
---```
---@param tensors torch.Tensor[] of equal shapes
---@param dim? integer position of the new dimension
---@return torch.Tensor
function torch.stack(tensors, dim) end

---Concatenates tensors along dimension 1, vectors along dimension 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.hstack{torch.ones(2), torch.ones(3)}.shape[1] == 5)
---```
---@param tensors torch.Tensor[]
---@return torch.Tensor
function torch.hstack(tensors) end

---Concatenates tensors along dimension 0; vectors become rows.
---
---```lua
---local torch = require 'torch'
---assert(torch.vstack{torch.ones(3), torch.ones(3)}.shape[1] == 2)
---```
---@param tensors torch.Tensor[]
---@return torch.Tensor
function torch.vstack(tensors) end

---Splits a tensor into parts of a given length.
---
---```lua
---local torch = require 'torch'
---local parts = torch.arange(5):split(2)
---assert(#parts == 3 and parts[3].shape[1] == 1)
---```
---@param input torch.Tensor any shape
---@param split_size integer|integer[] length of each part, or a list of the lengths
---@param dim? integer
---@return torch.Tensor[] # views; the last may be shorter
function torch.split(input, split_size, dim) end

---Splits a tensor into a number of parts, or at given positions.
---
---```lua
---local torch = require 'torch'
---assert(#torch.arange(7):tensor_split(3) == 3)
---```
---@param input torch.Tensor any shape
---@param sections? integer number of parts
---@param indices? integer[] positions where parts begin
---@param tensor_indices_or_sections? torch.Tensor one of these as a tensor
---@param dim? integer
---@return torch.Tensor[] # views
function torch.tensor_split(input, sections, indices, tensor_indices_or_sections, dim) end

---Splits a tensor into a number of parts.
---
---```lua
---local torch = require 'torch'
---assert(#torch.arange(6):chunk(3) == 3)
---```
---@param input torch.Tensor any shape
---@param chunks integer
---@param dim? integer
---@return torch.Tensor[] # views, at most that many
function torch.chunk(input, chunks, dim) end

---Returns all slices along a dimension.
---
---```lua
---local torch = require 'torch'
---assert(#torch.zeros(3, 2):unbind(0) == 3)
---```
---@param input torch.Tensor any shape
---@param dim? integer
---@return torch.Tensor[] # views without dim
function torch.unbind(input, dim) end

---Reverses the order along dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(3):flip{0}[0]:item() == 2)
---```
---@param input torch.Tensor any shape
---@param dims integer[]
---@return torch.Tensor # a copy
function torch.flip(input, dims) end

---Moves elements along a dimension; elements that leave at the end reappear at the front.
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(3):roll(1)[0]:item() == 2)
---```
---@param input torch.Tensor any shape
---@param shifts integer|integer[]
---@param dims? integer|integer[] default: flattened
---@return torch.Tensor # a copy
function torch.roll(input, shifts, dims) end

---Rotates by 90 degrees.
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(4):view(2, 2):rot90()[0][0]:item() == 1)
---```
---@param input torch.Tensor any shape
---@param k? integer number of rotations
---@param dims? integer[] the two dimensions of the plane
---@return torch.Tensor # a copy
function torch.rot90(input, k, dims) end

---Returns a tensor whose elements are contiguous in memory.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):t():contiguous():is_contiguous())
---```
---@param input torch.Tensor any shape
---@param memory_format? 'contiguous_format'|'channels_last'|'channels_last_3d'
---@return torch.Tensor # the tensor itself if it is contiguous
function torch.contiguous(input, memory_format) end

---Returns a copy; gradients flow through it.
---
---```lua
---local torch = require 'torch'
---local x = torch.zeros(2)
---x:clone():fill_(1)
---assert(x:sum():item() == 0)
---```
---@param input torch.Tensor any shape
---@param memory_format? 'contiguous_format'|'channels_last'|'preserve_format'
---@return torch.Tensor
function torch.clone(input, memory_format) end

---Returns the same elements, detached from the graph.
---
---```lua
---local torch = require 'torch'
---assert(not torch.ones(1, {requires_grad = true}):detach().requires_grad)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # a view through which no gradient flows
function torch.detach(input) end

---Returns a view with given strides.
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(6):as_strided({2, 2}, {1, 2})[1][1]:item() == 3)
---```
---@param input torch.Tensor any shape
---@param size integer[]
---@param stride integer[] in elements
---@param storage_offset? integer in elements
---@return torch.Tensor # (size), a view
function torch.as_strided(input, size, stride, storage_offset) end

---Returns a list of lengths, as x.shape is.
---
---```lua
---local torch = require 'torch'
---assert(tostring(torch.Size{2, 3}) == 'torch.Size([2, 3])')
---```
---@param sizes integer[]
---@return torch.Size # a list counted from 1, printed as in PyTorch
function torch.Size(sizes) end

---Returns a range for an index: Python's start:stop:step. PyTorch equivalent: slice.
---
---```lua
---local torch = require 'torch'
---local x = torch.arange(6):view(2, 3)
---assert(x[{1, torch.slice(1, 3)}][0]:item() == 4)
---assert(x[{torch.slice(), torch.slice(nil, nil, 2)}].shape[2] == 2)
---```
---@param start? integer
---@param stop? integer exclusive; negative: counted from the end
---@param step? integer
---@return userdata # an item of an index list
function torch.slice(start, stop, step) end

return torch
