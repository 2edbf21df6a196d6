-- torch/functions/sparse_tensors.lua: torch.sparse_coo_tensor, torch.sparse_csr_tensor and the others: sparse tensors from
-- their parts.

local args = require 'base.args'
local aten = require 'torch.functions.aten'
local C = require 'torch._C'
local creation = require 'torch.functions.creation'
local errors = require 'base.errors'

local tensors = {}

local OPTIONS = {'dtype', 'device', 'pin_memory', 'requires_grad', 'check_invariants'}

local function signature(name, parameters, ...)
  for _, option in ipairs{...} do parameters[#parameters + 1] = {option} end
  return args.signature(name, parameters)
end

local function indices_of(indices, dtype, device)
  if C.is_tensor(indices) then return indices:to{dtype = dtype, device = device} end
  return C.tensor(indices, {dtype = 'int64', device = device})
end

local function finish(out, p) return p.requires_grad and out:requires_grad_() or out end

-- Returns a tensor without values, for sparse_coo_tensor(size).
local function empty_coo(p)
  local size = p.size or p.indices
  local is_size = type(size) == 'table' and type(size[1]) ~= 'table'
  if not is_size or p.size and p.indices then
    errors.raise('argument', ("sparse_coo_tensor: missing argument '%s'"):format(p.indices and 'values' or 'indices'))
  end
  return aten.sparse_coo_tensor(size, {dtype = p.dtype, device = p.device, pin_memory = p.pin_memory})
end

local coo = signature('sparse_coo_tensor', {{'indices'}, {'values'}, {'size'}}, 'is_coalesced', unpack(OPTIONS))

---Returns a sparse tensor of layout COO: values and their indices. torch.sparse_coo_tensor(size) has no values. PyTorch
---equivalent: torch.sparse_coo_tensor.
---Arguments: indices (dimensions, n), values (n, …), tensors or lists; size = nil (nil: as small as the indices allow);
---{dtype = nil (the values'), device = nil, pin_memory = false, requires_grad = false, is_coalesced = nil,
---check_invariants = false (true: an index beyond the size raises an error)}.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local x = torch.sparse_coo_tensor({{0, 1, 1}, {2, 0, 2}}, {3, 4, 5}, {2, 3})
---assert(torch.equal(x:to_dense(), torch.tensor{{0, 0, 3}, {4, 0, 5}}))
---```
function tensors.sparse_coo_tensor(...)
  local p = coo:bind(...)
  if p.values == nil then return finish(empty_coo(p), p) end
  local values = creation.as_tensor(p.values, p.dtype, p.device)
  local indices = indices_of(p.indices, 'int64', p.device or values.device)
  local options = {dtype = values.dtype, pin_memory = p.pin_memory, is_coalesced = p.is_coalesced}
  local out
  if p.size then
    out = aten.sparse_coo_tensor(indices, values, p.size, options)
  else
    out = aten.sparse_coo_tensor(indices, values, options)
  end
  if p.check_invariants then
    aten._validate_sparse_coo_tensor_args(indices, values, out:size(), {is_coalesced = p.is_coalesced})
  end
  return finish(out, p)
end

local function compressed(operator, compressed_indices, plain_indices, p)
  local values = creation.as_tensor(p.values, p.dtype, p.device)
  local device = p.device or values.device
  local outer, inner = indices_of(compressed_indices, nil, device), indices_of(plain_indices, nil, device)
  local options = {dtype = values.dtype, layout = p.layout, pin_memory = p.pin_memory}
  local out
  if p.size then
    out = operator(outer, inner, values, p.size, options)
  else
    out = operator(outer, inner, values, options)
  end
  if p.check_invariants then
    aten._validate_sparse_compressed_tensor_args(outer, inner, values, out:size(), out.layout)
  end
  return finish(out, p)
end

local of_any_layout = signature('sparse_compressed_tensor',
  {'compressed_indices', 'plain_indices', 'values', {'size'}}, 'layout', unpack(OPTIONS))

---Returns a sparse tensor of layout CSR, CSC, BSR or BSC. PyTorch equivalent: torch.sparse_compressed_tensor.
---Arguments: compressed_indices, plain_indices, values, tensors or lists; size = nil; {layout = torch.sparse_csr, … and the
---options of torch.sparse_csr_tensor}.
---@param ... any
---@return torch.Tensor
function tensors.sparse_compressed_tensor(...)
  local p = of_any_layout:bind(...)
  return compressed(aten.sparse_compressed_tensor, p.compressed_indices, p.plain_indices, p)
end

local csr = signature('sparse_csr_tensor', {'crow_indices', 'col_indices', 'values', {'size'}}, unpack(OPTIONS))

---Returns a sparse matrix by rows. PyTorch equivalent: torch.sparse_csr_tensor.
---Arguments: crow_indices (…, rows + 1): number of values before each row, col_indices (…, n), values (…, n), tensors
---or lists; size = nil (nil: as few columns as col_indices allows); {dtype = nil (the values'), device = nil,
---pin_memory = false, requires_grad = false, check_invariants = false (true: impossible indices raise an error)}.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local x = torch.sparse_csr_tensor({0, 1, 3}, {2, 0, 2}, {3, 4, 5}, {2, 3})
---assert(torch.equal(x:to_dense(), torch.tensor{{0, 0, 3}, {4, 0, 5}}))
---```
function tensors.sparse_csr_tensor(...)
  local p = csr:bind(...)
  return compressed(aten.sparse_csr_tensor, p.crow_indices, p.col_indices, p)
end

local csc = signature('sparse_csc_tensor', {'ccol_indices', 'row_indices', 'values', {'size'}}, unpack(OPTIONS))

---Returns a sparse matrix by columns. PyTorch equivalent: torch.sparse_csc_tensor.
---Arguments: ccol_indices (…, columns + 1), row_indices (…, n), values (…, n), size = nil; options as sparse_csr_tensor's.
---@param ... any
---@return torch.Tensor
function tensors.sparse_csc_tensor(...)
  local p = csc:bind(...)
  return compressed(aten.sparse_csc_tensor, p.ccol_indices, p.row_indices, p)
end

local bsr = signature('sparse_bsr_tensor', {'crow_indices', 'col_indices', 'values', {'size'}}, unpack(OPTIONS))

---Returns a sparse matrix of blocks by rows. PyTorch equivalent: torch.sparse_bsr_tensor.
---Arguments: crow_indices (…, rows of blocks + 1), col_indices (…, n), values (…, n, height, width), size = nil; options as
---sparse_csr_tensor's.
---@param ... any
---@return torch.Tensor
function tensors.sparse_bsr_tensor(...)
  local p = bsr:bind(...)
  return compressed(aten.sparse_bsr_tensor, p.crow_indices, p.col_indices, p)
end

local bsc = signature('sparse_bsc_tensor', {'ccol_indices', 'row_indices', 'values', {'size'}}, unpack(OPTIONS))

---Returns a sparse matrix of blocks by columns. PyTorch equivalent: torch.sparse_bsc_tensor.
---Arguments: ccol_indices (…, columns of blocks + 1), row_indices (…, n), values (…, n, height, width), size = nil; options
---as sparse_csr_tensor's.
---@param ... any
---@return torch.Tensor
function tensors.sparse_bsc_tensor(...)
  local p = bsc:bind(...)
  return compressed(aten.sparse_bsc_tensor, p.ccol_indices, p.row_indices, p)
end

return tensors
