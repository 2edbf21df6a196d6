-- torch/functional.lua: functions of torch.* that are more than one operator: Python's calling forms over ATen's.
--
-- Functions of several tensors take them one by one or as one list. What Python returns as a tuple whose length depends
-- on the arguments is a list; a fixed number of results are several values.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local aten = require 'torch.aten'
local checks = require 'torch.checks'
local C = require 'torch._C'

local functional = {}

-- The tensors given one by one or as one list, and the keywords behind them.
local function tensors_of(name, ...)
  local given, count, keywords = {...}, select('#', ...), {}
  if count > 0 and args.is_keywords(given[count]) then
    keywords, given[count] = given[count], nil
    count = count - 1
  end
  if count == 1 and type(given[1]) == 'table' then given, count = given[1], #given[1] end
  for i = 1, count do
    if not C.is_tensor(given[i]) then
      errors.raise('argument', ('%s: argument %d: expected a Tensor, got %s'):format(name, i, type(given[i])))
    end
  end
  return given, keywords
end

-- A function of tensors that takes no keywords.
local function of_tensors(name, ...)
  local tensors, keywords = tensors_of(name, ...)
  args.options(next(keywords) and keywords or nil, {}, name)
  return tensors
end

---All tensors expanded to the shape that they broadcast to: views. Counterpart: torch.broadcast_tensors.
---@param ... torch.Tensor|torch.Tensor[]
---@return torch.Tensor[]
function functional.broadcast_tensors(...) return aten.broadcast_tensors(of_tensors('broadcast_tensors', ...)) end

-- Joins a shape into `out`, both lists of sizes aligned at their ends.
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

---The shape that shapes broadcast to. Counterpart: torch.broadcast_shapes.
---@param ... integer[]|integer a number stands for a shape of one dimension
---@return torch.Size
---
---```lua
---local torch = require 'torch'
---assert(torch.broadcast_shapes({2, 1}, {3, 1, 4}) == torch.Size{3, 2, 4})
---```
function functional.broadcast_shapes(...)
  local out = {}
  for i = 1, select('#', ...) do
    broadcast_into(out, checks.sizes(('broadcast_shapes: shape %d'):format(i), (select(i, ...))), i)
  end
  return C.Size(out)
end

local function at_least(name)
  return function(...)
    if select('#', ...) == 1 then return aten[name]((...)) end
    return aten[name](of_tensors(name, ...))
  end
end

---Tensors of no dimension get one. Counterpart: torch.atleast_1d.
---Arguments: tensor → tensor; several, or a list → list.
functional.atleast_1d = at_least 'atleast_1d'
---Tensors of fewer than two dimensions get leading ones. Arguments as atleast_1d's.
functional.atleast_2d = at_least 'atleast_2d'
---Tensors of fewer than three dimensions get more: (n) becomes (1, n, 1), (m, n) becomes (m, n, 1). Arguments as
---atleast_1d's.
functional.atleast_3d = at_least 'atleast_3d'

---Grids of coordinates from vectors. Counterpart: torch.meshgrid.
---@param ... any tensors of one dimension or a list of them; {indexing = 'ij' (default) or 'xy'}
---@return torch.Tensor[] grids one for each vector; their shape is the vectors' lengths, the first two swapped for 'xy'
---
---```lua
---local torch = require 'torch'
---local x, y = unpack(torch.meshgrid(torch.arange(2), torch.arange(3), {indexing = 'xy'}))
---assert(x.shape == torch.Size{3, 2} and y[{2, 0}]:item() == 2)
---```
function functional.meshgrid(...)
  local tensors, keywords = tensors_of('meshgrid', ...)
  local indexing = args.options(keywords, {'indexing'}, 'meshgrid').indexing or 'ij'
  return aten.meshgrid(tensors, {indexing = args.one_of('meshgrid: indexing', indexing, {'ij', 'xy'})})
end

---All combinations of the vectors' elements, one a row. Counterpart: torch.cartesian_prod.
---@param ... torch.Tensor|torch.Tensor[] of one dimension
---@return torch.Tensor
function functional.cartesian_prod(...) return aten.cartesian_prod(of_tensors('cartesian_prod', ...)) end

---A matrix with the given ones along its diagonal. Counterpart: torch.block_diag.
---@param ... torch.Tensor|torch.Tensor[] of at most two dimensions
---@return torch.Tensor
function functional.block_diag(...) return aten.block_diag(of_tensors('block_diag', ...)) end

---The product of matrices, in the cheapest order. PyTorch's newer name is torch.linalg.multi_dot.
---@param ... torch.Tensor|torch.Tensor[]
---@return torch.Tensor
function functional.chain_matmul(...)
  local tensors = of_tensors('chain_matmul', ...)
  if #tensors == 1 then return tensors[1] end
  return aten.linalg_multi_dot(tensors)
end

local LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

-- {0, '...', 1} as the letters of an equation.
local function subscripts(list)
  if type(list) ~= 'table' then
    errors.raise('argument', ('einsum: expected a list of subscripts, got %s'):format(type(list)))
  end
  local out = {}
  for i, item in ipairs(list) do
    local letter = type(item) == 'number' and item >= 0 and LETTERS:sub(item + 1, item + 1) or ''
    if item ~= '...' and letter == '' then
      errors.raise('argument', ("einsum: subscripts are integers from 0 to 51 or '...', got %s"):format(tostring(item)))
    end
    out[i] = item == '...' and item or letter
  end
  return table.concat(out)
end

-- x, {0, 1}, y, {1, 2}, {0, 2} as an equation and operands.
local function from_sublists(...)
  local given, count, inputs, operands = {...}, select('#', ...), {}, {}
  for i = 1, count - 1, 2 do
    operands[#operands + 1] = given[i]
    inputs[#inputs + 1] = subscripts(given[i + 1])
  end
  local equation = table.concat(inputs, ',')
  if count % 2 == 1 then equation = equation .. '->' .. subscripts(given[count]) end
  return equation, operands
end

---Sums of products in Einstein's notation. Counterpart: torch.einsum.
---Arguments: equation, tensors one by one or as a list; or tensor, subscripts, tensor, subscripts, …, {output subscripts}
---with subscripts as lists of integers from 0 and '...'.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local x = torch.arange(6):view(2, 3)
---assert(torch.equal(torch.einsum('ij,kj->ik', x, x), x:matmul(x.T)))
---assert(torch.equal(torch.einsum(x, {0, 1}, {1, 0}), x.T))
---```
function functional.einsum(...)
  if type((...)) == 'string' then return aten.einsum((...), of_tensors('einsum', select(2, ...))) end
  if select('#', ...) < 2 then errors.raise('argument', 'einsum: expected an equation and tensors') end
  return aten.einsum(from_sublists(...))
end

local split = args.signature('split', {'tensor', 'split_size_or_sections', {'dim', 0}})

---Pieces of one size, the last may be smaller, or of the sizes in a list: views. Counterpart: torch.split.
---Arguments: tensor, split_size_or_sections, dim = 0.
---@param ... any
---@return torch.Tensor[]
function functional.split(...)
  local p = split:bind(...)
  return aten.split(p.tensor, p.split_size_or_sections, p.dim)
end

local function first_dims(count, first)
  local out = {}
  for i = 1, count do out[i] = first + i - 1 end
  return out
end

local function check_tensordot_count(p)
  local count = p.dims
  checks.tensor('tensordot: a', p.a)
  checks.tensor('tensordot: b', p.b)
  if count < 0 or count % 1 ~= 0 or count > math.min(p.a:dim(), p.b:dim()) then
    errors.raise('argument', ('tensordot: dims must lie between 0 and the dimensions of both tensors (%d and %d), got %s')
      :format(p.a:dim(), p.b:dim(), tostring(count)))
  end
end

local tensordot = args.signature('tensordot', {'a', 'b', {'dims', 2}})

---Contracts dimensions of two tensors. Counterpart: torch.tensordot.
---Arguments: a, b, dims = 2: how many of a's last and b's first dimensions, or {dims of a, dims of b}.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local a, b = torch.ones(2, 3, 4), torch.ones(4, 3, 5)
---assert(torch.tensordot(a, b, {dims = {{1, 2}, {1, 0}}}).shape == torch.Size{2, 5})
---```
function functional.tensordot(...)
  local p = tensordot:bind(...)
  if C.is_tensor(p.dims) then p.dims = p.dims:numel() == 1 and tonumber(p.dims:item()) or p.dims:tolist() end
  if type(p.dims) == 'number' then
    check_tensordot_count(p)
    return aten.tensordot(p.a, p.b, first_dims(p.dims, -p.dims), first_dims(p.dims, 0))
  end
  if type(p.dims) ~= 'table' or #p.dims ~= 2 then
    errors.raise('argument', 'tensordot: dims is a number or two lists {dims of a, dims of b}')
  end
  return aten.tensordot(p.a, p.b, p.dims[1], p.dims[2])
end

local CDIST_MODES = {use_mm_for_euclid_dist_if_necessary = 0, use_mm_for_euclid_dist = 1,
                     donot_use_mm_for_euclid_dist = 2}
local cdist = args.signature('cdist', {'x1', 'x2', {'p', 2}, {'compute_mode', 'use_mm_for_euclid_dist_if_necessary'}})

---Distances (…, P, R) between the rows of x1 (…, P, M) and x2 (…, R, M). Counterpart: torch.cdist.
---Arguments: x1, x2, p = 2, compute_mode = 'use_mm_for_euclid_dist_if_necessary' (more than 25 rows on a side go through
---a matrix product), 'use_mm_for_euclid_dist' or 'donot_use_mm_for_euclid_dist'.
---@param ... any
---@return torch.Tensor
function functional.cdist(...)
  local p = cdist:bind(...)
  args.one_of('cdist: compute_mode', p.compute_mode,
    {'use_mm_for_euclid_dist_if_necessary', 'use_mm_for_euclid_dist', 'donot_use_mm_for_euclid_dist'})
  return aten.cdist(p.x1, p.x2, p.p, CDIST_MODES[p.compute_mode])
end

local norm = args.signature('norm', {'input', {'p', 'fro'}, {'dim'}, {'keepdim', false}, {'dtype'}})

---A vector norm over `dim` (all dimensions by default), or p = 'nuc', the nuclear norm of matrices. Counterpart:
---torch.norm; torch.linalg.norm tells vectors from matrices.
---Arguments: input, p = 'fro' (as 2), 'nuc' or a number, dim = nil, keepdim = false, dtype = nil.
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
    return aten.linalg_matrix_norm(p.input, 'nuc', p.dim or {-2, -1}, p.keepdim, {dtype = p.dtype})
  end
  if type(p.p) ~= 'number' then args.one_of('norm: p', p.p, {'fro', 'nuc'}) end
  return aten.linalg_vector_norm(p.input, p.p == 'fro' and 2 or p.p, type(p.dim) == 'number' and {p.dim} or p.dim,
    p.keepdim, {dtype = p.dtype})
end

local nonzero = args.signature('nonzero', {'input', {'as_tuple', false}})

---Where elements are not zero: (count, dimensions) int64, or with as_tuple one index tensor (count) for each dimension,
---which together index the tensor. Counterpart: torch.nonzero.
---Arguments: input, as_tuple = false.
---@param ... any
---@return torch.Tensor|torch.Tensor[]
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{{0, 5}, {7, 0}}
---assert(torch.equal(x[x:nonzero{as_tuple = true}], torch.tensor{5, 7}))
---```
function functional.nonzero(...)
  if select('#', ...) == 1 then return aten.nonzero((...)) end
  local p = nonzero:bind(...)
  return aten[p.as_tuple and 'nonzero_numpy' or 'nonzero'](p.input)
end

---The coordinates of flat indices in a tensor of that shape. Counterpart: torch.unravel_index.
---@param indices torch.Tensor integers
---@param shape integer[]|integer
---@return torch.Tensor[] one for each dimension, of the indices' shape
function functional.unravel_index(indices, shape)
  checks.tensor('unravel_index: indices', indices)
  if aten.is_floating_point(indices) or indices.dtype == 'bool' or indices:is_complex() then
    errors.raise('argument', 'unravel_index: expected indices of an integer dtype, got ' .. indices.dtype)
  end
  shape = checks.sizes('unravel_index: shape', shape)
  local strides, step = {}, 1
  for i = #shape, 1, -1 do
    strides[i] = step
    step = step * shape[i]
  end
  local options = {dtype = 'int64', device = indices.device}
  local quotients = indices:unsqueeze(-1):floor_divide(C.tensor(strides, options))
  return (quotients % C.tensor(shape, options)):unbind(-1)
end

---The rows of x, as `for row in x:iter() do`. Counterpart: iterating over a tensor.
---@param input torch.Tensor of at least one dimension
---@return fun(): torch.Tensor?
---
---```lua
---local torch = require 'torch'
---local sum = 0
---for row in torch.arange(4):iter() do sum = sum + row:item() end
---assert(sum == 6)
---```
function functional.iter(input)
  if checks.tensor('iter: input', input):dim() == 0 then errors.raise('argument', 'iter: a 0-dim tensor has no rows') end
  local rows, i = input:unbind(0), 0
  return function()
    i = i + 1
    return rows[i]
  end
end

---The elements that are not zero, by their coordinates. Counterpart: Tensor.to_sparse_coo; x:to_sparse() has options.
---@param input torch.Tensor
---@return torch.Tensor of layout torch.sparse_coo
function functional.to_sparse_coo(input) return aten.to_sparse(input) end

---size(0), as #x.
---@param input torch.Tensor of at least one dimension
---@return integer
function functional.len(input) return #checks.tensor('len: input', input) end

return require 'rtrain.namespace'('torch.functional', nil, functional)
