-- rtrain/data/columns/numbers.lua: concatenates columns of numbers of any dtypes, without rounding an integer.

local class = require 'base.class'
local errors = require 'base.errors'
local Masked = require 'rtrain.data.columns.masked'
local number = require 'base.number'
local torch = require 'torch'

local numbers = {}

-- The dtypes to which LibTorch promotes instead of uint16, uint32 and uint64.
local WIDER = {uint16 = 'int32', uint32 = 'int64', uint64 = 'int64'}

local function is_masked(of) return class.is(of, Masked) end

-- Returns the tensor of a column, nil for a column without a value.
local function data_of(of)
  if is_masked(of) then return of.data end
  return type(of) == 'userdata' and of or nil
end

-- Returns the dtype that holds the numbers of all columns.
local function joint_dtype(list)
  local found, dtypes = {}, {}
  for _, of in ipairs(list) do
    local data = data_of(of)
    if data and not found[data.dtype] then found[data.dtype], dtypes[#dtypes + 1] = true, data.dtype end
  end
  if #dtypes == 1 then return dtypes[1] end
  for i, dtype in ipairs(dtypes) do dtypes[i] = torch.zeros({0}, {dtype = WIDER[dtype] or dtype}) end
  return torch.cat(dtypes).dtype
end

local function refuse(name, data, i, dtype)
  errors.raise('argument', ("column '%s' is %s in some blocks and of other dtypes in others, and %s has no exact %s: give the "
    .. "column one dtype in all files, or convert it with map(fn, {dtypes = {['%s'] = 'float64'}})"):format(name, data.dtype,
    number.text(data:flatten()[i]:item()), dtype, name))
end

local function converted(data, dtype, name)
  if data.dtype == dtype then return data end
  if data:is_floating_point() or data:is_complex() or data.dtype == 'bool' then return data:to(dtype) end
  local is_uint64 = data.dtype == 'uint64'
  local signed = is_uint64 and data:view('int64') or data:to(WIDER[data.dtype] or data.dtype)
  local out = signed:to(dtype)
  local bad = is_uint64 and signed:lt(0) or torch.zeros_like(signed, {dtype = 'bool'})
  if out:is_floating_point() then bad = bad:logical_or(out:to(signed.dtype):ne(signed)) end
  bad = bad:flatten():nonzero()
  if bad:size(0) > 0 then refuse(name, data, bad[0][0]:item(), dtype) end
  return out
end

-- Returns the rows of one column as a tensor and, if it may be null, a mask of the rows that have a value.
local function parts_of(of, dtype, name)
  if is_masked(of) then return converted(of.data, dtype, name), of.valid end
  local data = data_of(of)
  if data then return converted(data, dtype, name), nil end
  return torch.zeros({of:len()}, {dtype = dtype}), torch.zeros({of:len()}, {dtype = 'bool'})
end

---Concatenates the rows of several columns, in the dtype that holds all of them. Null is NaN among floats. Raises code
---'argument' if that dtype cannot represent an integer exactly.
---@param list (torch.Tensor|data.Masked|data.Objects)[] tensors with equal rows; those without a value are Objects
---@param name string of the column, for messages
---@return torch.Tensor|data.Masked
---
---```lua
---local numbers, Masked = require 'rtrain.data.columns.numbers', require 'rtrain.data.columns.masked'
---local torch = require 'torch'
---local both = numbers.concat({torch.arange(2), Masked.nulls(1, 'int8')}, 'id')
---assert(both:len() == 3 and both.data.dtype == 'int64' and both:value(2) == nil)
---```
function numbers.concat(list, name)
  local dtype, data, valid, has_mask = joint_dtype(list), {}, {}, false
  for i, of in ipairs(list) do
    data[i], valid[i] = parts_of(of, dtype, name)
    has_mask = has_mask or valid[i] ~= nil
  end
  if not has_mask then return torch.cat(data) end
  for i, part in ipairs(data) do valid[i] = valid[i] or torch.ones({part:size(0)}, {dtype = 'bool'}) end
  local out = Masked(torch.cat(data), torch.cat(valid))
  return out.data:is_floating_point() and out:to_float(dtype) or out
end

return numbers
