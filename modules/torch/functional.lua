-- torch/functional.lua: functions of torch.* that need more than one operator, with Python's calling forms.
--
-- Functions of several tensors take them as separate arguments or as one list. A tuple whose length depends on the
-- arguments becomes a list; a fixed number of results becomes several values.

local args = require 'base.args'
local errors = require 'base.errors'
local aten = require 'torch.functions.aten'
local checks = require 'torch.functions.checks'
local C = require 'torch._C'

local functional = {}

---Returns all tensors expanded to their common broadcast shape, as views. PyTorch equivalent: torch.broadcast_tensors.
---@param ... torch.Tensor|torch.Tensor[]
---@return torch.Tensor[]
function functional.broadcast_tensors(...) return aten.broadcast_tensors(checks.tensors('broadcast_tensors', ...)) end

-- Broadcasts a shape into `out`, both lists of sizes aligned at their ends.
local function broadcast_into(out, shape, position)
  for back = 1, #shape do
    local size, at = shape[#shape - back + 1], #out - back + 1
    if at < 1 then
      table.insert(out, 1, size)
    elseif out[at] == 1 then
      out[at] = size
    elseif size ~= 1 and size ~= out[at] then
      errors.raise('argument', ('broadcast_shapes: shape %d has size %d where the ones before have %d, %d from the end')
        :format(position, size, out[at], back))
    end
  end
end

---Returns the shape to which the shapes broadcast. PyTorch equivalent: torch.broadcast_shapes.
---@param ... integer[]|integer a number stands for a shape of one dimension
---@return torch.Size
---
---```lua
---local torch = require 'torch'
---assert(torch.broadcast_shapes({2, 1}, {3, 1, 4}) == torch.Size{3, 2, 4})
---```
function functional.broadcast_shapes(...)
  local _, count = args.trailing('broadcast_shapes', {}, ...)
  local out = {}
  for i = 1, count do
    broadcast_into(out, checks.sizes(('broadcast_shapes: shape %d'):format(i), (select(i, ...))), i)
  end
  return C.Size(out)
end

local function at_least(name)
  return function(...)
    local first = ...
    if select('#', ...) == 1 and (C.is_tensor(first) or args.is_keywords(first)) then return aten[name](first) end
    return aten[name](checks.tensors(name, ...))
  end
end

---Makes tensors without dimensions one-dimensional. PyTorch equivalent: torch.atleast_1d.
---For a tensor it returns a tensor; for several tensors, or a list, it returns a list.
functional.atleast_1d = at_least 'atleast_1d'
---Adds leading dimensions to tensors of fewer than two. Arguments as atleast_1d.
functional.atleast_2d = at_least 'atleast_2d'
---Adds dimensions to tensors of fewer than three: (n) becomes (1, n, 1), (m, n) becomes (m, n, 1). Arguments as
---atleast_1d.
functional.atleast_3d = at_least 'atleast_3d'

---Returns grids of coordinates from vectors. PyTorch equivalent: torch.meshgrid.
---@param ... any tensors of one dimension or a list of them; {indexing = 'ij' (default) or 'xy'}
---@return torch.Tensor[] grids one for each vector; their shape is the vectors' lengths, the first two swapped for 'xy'
---
---```lua
---local torch = require 'torch'
---local x, y = unpack(torch.meshgrid(torch.arange(2), torch.arange(3), {indexing = 'xy'}))
---assert(x.shape == torch.Size{3, 2} and y[{2, 0}]:item() == 2)
---```
function functional.meshgrid(...)
  local tensors, keywords = checks.tensors_and_keywords('meshgrid', ...)
  local indexing = args.options(keywords, {'indexing'}, 'meshgrid').indexing or 'ij'
  return aten.meshgrid(tensors, {indexing = args.one_of('meshgrid: indexing', indexing, {'ij', 'xy'})})
end

---Returns all combinations of the vectors' elements, one in each row. PyTorch equivalent: torch.cartesian_prod.
---@param ... torch.Tensor|torch.Tensor[] of one dimension
---@return torch.Tensor
function functional.cartesian_prod(...) return aten.cartesian_prod(checks.tensors('cartesian_prod', ...)) end

---Returns a matrix with the given matrices along its diagonal. PyTorch equivalent: torch.block_diag.
---@param ... torch.Tensor|torch.Tensor[] of at most two dimensions
---@return torch.Tensor
function functional.block_diag(...) return aten.block_diag(checks.tensors('block_diag', ...)) end

local split = args.signature('split', {'tensor', 'split_size_or_sections', {'dim', 0}})

---Splits a tensor into pieces of one size (the last may be smaller), or of the sizes in a list: views. PyTorch
---equivalent: torch.split.
---Arguments: tensor, split_size_or_sections, dim = 0.
---@param ... any
---@return torch.Tensor[]
function functional.split(...)
  local p = split:bind(...)
  return aten.split(p.tensor, p.split_size_or_sections, p.dim)
end

local CDIST_MODES = {use_mm_for_euclid_dist_if_necessary = 0, use_mm_for_euclid_dist = 1,
                     donot_use_mm_for_euclid_dist = 2}
local cdist = args.signature('cdist', {'x1', 'x2', {'p', 2}, {'compute_mode', 'use_mm_for_euclid_dist_if_necessary'}})

---Computes distances (…, P, R) between the rows of x1 (…, P, M) and x2 (…, R, M). PyTorch equivalent: torch.cdist.
---Arguments: x1, x2, p = 2, compute_mode = 'use_mm_for_euclid_dist_if_necessary' (uses a matrix product for more than
---25 rows on a side), 'use_mm_for_euclid_dist' or 'donot_use_mm_for_euclid_dist'.
---@param ... any
---@return torch.Tensor
function functional.cdist(...)
  local p = cdist:bind(...)
  args.one_of('cdist: compute_mode', p.compute_mode,
    {'use_mm_for_euclid_dist_if_necessary', 'use_mm_for_euclid_dist', 'donot_use_mm_for_euclid_dist'})
  return aten.cdist(p.x1, p.x2, p.p, CDIST_MODES[p.compute_mode])
end

local norm = args.signature('norm', {'input', {'p', 'fro'}, {'dim'}, {'keepdim', false}, {'dtype'}, {'out'}})

---Returns a vector norm over `dim` (all dimensions by default), or p = 'nuc', the nuclear norm of matrices. PyTorch
---equivalent: torch.norm; torch.linalg.norm distinguishes vectors from matrices.
---Arguments: input, p = 'fro' (the same as 2), 'nuc' or a number, dim = nil, keepdim = false, dtype = nil, out = nil.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{{3, 4}, {6, 8}}
---assert(x:norm(2, 1):eq(torch.tensor{5, 10}):all():item())
---assert(x:norm(math.huge):item() == 8)
---```
function functional.norm(...)
  if select('#', ...) == 1 and C.is_tensor((...)) then return aten.linalg_vector_norm((...)) end
  local p = norm:bind(...)
  if p.p == 'nuc' then
    return aten.linalg_matrix_norm(p.input, 'nuc', p.dim or {-2, -1}, p.keepdim, {dtype = p.dtype, out = p.out})
  end
  if type(p.p) ~= 'number' then args.one_of('norm: p', p.p, {'fro', 'nuc'}) end
  return aten.linalg_vector_norm(p.input, p.p == 'fro' and 2 or p.p, type(p.dim) == 'number' and {p.dim} or p.dim,
    p.keepdim, {dtype = p.dtype, out = p.out})
end

local nonzero = args.signature('nonzero', {'input', {'as_tuple', false}, {'out'}})

---Returns the indices of nonzero elements: (count, dimensions) int64, or with as_tuple one index tensor (count) for
---each dimension, which together index the tensor. PyTorch equivalent: torch.nonzero.
---Arguments: input, as_tuple = false, out = nil (not with as_tuple).
---@param ... any
---@return torch.Tensor|torch.Tensor[]
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{{0, 5}, {7, 0}}
---assert(torch.equal(x[x:nonzero{as_tuple = true}], torch.tensor{5, 7}))
---```
function functional.nonzero(...)
  if select('#', ...) == 1 and C.is_tensor((...)) then return aten.nonzero((...)) end
  local p = nonzero:bind(...)
  if not p.as_tuple then return aten.nonzero(p.input, {out = p.out}) end
  if p.out ~= nil then errors.raise('argument', 'nonzero: out goes with as_tuple = false') end
  return aten.nonzero_numpy(p.input)
end

local unravel_index = args.signature('unravel_index', {'indices', 'shape'})

---Returns the coordinates of flat indices in a tensor of that shape. PyTorch equivalent: torch.unravel_index.
---Arguments: indices (integers), shape (a list of sizes, or one size).
---@param ... any
---@return torch.Tensor[] one for each dimension, of the indices' shape
function functional.unravel_index(...)
  local p = unravel_index:bind(...)
  local indices = checks.tensor('unravel_index: indices', p.indices)
  if aten.is_floating_point(indices) or indices.dtype == 'bool' or indices:is_complex() then
    errors.raise('argument', 'unravel_index: expected indices of an integer dtype, got ' .. indices.dtype)
  end
  local shape = checks.sizes('unravel_index: shape', p.shape)
  local strides, step = {}, 1LL
  for i = #shape, 1, -1 do
    strides[i] = step
    if i > 1 and tonumber(step) * tonumber(shape[i]) >= 2 ^ 63 then
      errors.raise('argument', 'unravel_index: the product of the sizes behind the first must be below 2^63')
    end
    step = step * shape[i]
  end
  local options = {dtype = 'int64', device = indices.device}
  local quotients = indices:unsqueeze(-1):floor_divide(C.tensor(strides, options))
  return (quotients % C.tensor(shape, options)):unbind(-1)
end

---Returns the nonzero elements in COO layout. PyTorch equivalent: Tensor.to_sparse_coo; x:to_sparse() has options.
---@param input torch.Tensor
---@return torch.Tensor of layout torch.sparse_coo
function functional.to_sparse_coo(input) return aten.to_sparse(input) end

return require 'base.namespace'('torch.functional', {
  files = {
    {'torch.functions.products', 'chain_matmul', 'einsum', 'tensordot'},
    {'torch.functions.unique', 'unique', 'unique_consecutive'},
    {'torch.functions.spectrogram', 'stft'},
    {'torch.functions.factorizations', 'svd_lowrank', 'pca_lowrank', 'lu'},
  },
}, functional)
