-- rtrain/data/columns/values.lua: makes a column of Lua values: of rows, lists and the results of user functions.

local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local ffi = require 'ffi'
local Masked = require 'rtrain.data.columns.masked'
local Objects = require 'rtrain.data.columns.objects'
local Strings = require 'torch.utils.data.strings'
local torch = require 'torch'

local values = {}

local int64, uint64 = ffi.typeof('int64_t'), ffi.typeof('uint64_t')
local MOST_INT64 = 0x7fffffffffffffffULL

local function kind_of_value(value, name)
  local kind = type(value)
  if value == nil or value == torch.none then return 'null' end
  if kind == 'number' or kind == 'boolean' or kind == 'string' or kind == 'table' then return kind end
  if kind == 'cdata' and ffi.istype(int64, value) then return 'int64' end
  if kind == 'cdata' and ffi.istype(uint64, value) then return value > MOST_INT64 and 'uint64' or 'int64' end
  if kind == 'userdata' and torch.is_tensor(value) then return 'tensor' end
  errors.raise('argument', ("column '%s': a %s cannot be a value of a row"):format(name, kind))
end

-- Returns the kinds of the values, and whether all numbers are integral.
local function survey(list, n, name)
  local kinds, integral = {}, true
  for i = 1, n do
    local value = list[i]
    local kind = type(value)
    if kind ~= 'number' then
      kind = kind_of_value(value, name)
    elseif value % 1 ~= 0 then
      integral = false
    end
    kinds[kind] = true
  end
  return kinds, integral
end

local function only(kinds, a, b, c, d)
  for kind in next, kinds do
    if kind ~= a and kind ~= b and kind ~= c and kind ~= d then return false end
  end
  return true
end

local function refuse_fraction(list, n, column_of)
  for i = 1, n do
    if type(list[i]) == 'number' and list[i] % 1 ~= 0 then
      errors.raise('argument', ("column '%s' holds %s, and row %d gives %s: say {dtypes = {['%s'] = 'float32'}}, or put the "
        .. 'value into a column of another name'):format(column_of.name, column_of.dtype, i - 1, tostring(list[i]),
        column_of.name))
    end
  end
end

-- Returns the list with `filler` in place of nil and torch.none.
local function without_null(list, n, filler)
  local out = {}
  for i = 1, n do
    local value = list[i]
    if value == nil or value == torch.none then value = filler end
    out[i] = value
  end
  return out
end

local function valid_rows(list, n)
  local out = {}
  for i = 1, n do out[i] = list[i] ~= nil and list[i] ~= torch.none end
  return torch.tensor(out, {dtype = 'bool'})
end

-- Returns the dtype of a column of integers, floats or booleans, else nil.
local function dtype_of(like)
  if column.is_masked(like) then return like.data.dtype end
  return column.is_tensor(like) and like:dim() == 1 and like.dtype or nil
end

local function wanted_dtype(kinds, integral, of)
  if of.dtype then return of.dtype end
  local like = dtype_of(of.like)
  if like and like ~= 'bool' then return like end
  local most = kinds.uint64 and 'uint64' or 'int64'
  if of.default == 'number' then return integral and most or 'float64' end
  return (kinds.int64 or kinds.uint64) and integral and most or 'float32'
end

-- Returns a tensor, or a masked column for integers with null; among floats NaN is null.
local function numbers_of(list, n, kinds, dtype)
  if not kinds.null then return torch.tensor(list, {dtype = dtype}) end
  if not column.is_integer(dtype) then return torch.tensor(without_null(list, n, 0 / 0), {dtype = dtype}) end
  return Masked(torch.tensor(without_null(list, n, 0), {dtype = dtype}), valid_rows(list, n))
end

local function numbers(list, n, of, kinds, integral)
  local dtype = wanted_dtype(kinds, integral, of)
  if column.is_integer(dtype) and not integral then refuse_fraction(list, n, {name = of.name, dtype = dtype}) end
  local ok, result = pcall(numbers_of, list, n, kinds, dtype)
  if ok then return result end
  errors.raise('argument', ("column '%s': %s; {dtypes = {['%s'] = …}} chooses another dtype"):format(of.name,
    type(result) == 'table' and result.message or tostring(result), of.name))
end

local function booleans(list, n, of, kinds)
  local dtype = of.dtype or 'bool'
  if not kinds.null then return torch.tensor(list, {dtype = dtype}) end
  local masked = Masked(torch.tensor(without_null(list, n, false), {dtype = 'bool'}), valid_rows(list, n))
  if dtype == 'bool' then return masked end
  return column.is_integer(dtype) and Masked(masked.data:to(dtype), masked.valid) or masked:to_float(dtype)
end

local function same_shape(list)
  local shape = list[1]:size()
  for i = 2, #list do
    local other = list[i]:size()
    if #other ~= #shape then return false end
    for k = 1, #shape do
      if other[k] ~= shape[k] then return false end
    end
  end
  return true
end

local function tensors(list, n, of)
  if not same_shape(list) then return Objects(list, n) end
  local stacked = torch.stack(list):detach()
  return of.dtype and stacked:to(of.dtype) or stacked
end

-- Returns a column of nulls, of the kind that the column had before.
local function nulls(n, of)
  if n == 0 and of.like then return column.narrow(of.like, 0, 0) end
  return column.nulls(of.dtype or of.like and column.type_of(of.like) or 'object', n)
end

local function plain(list, n)
  local out = {}
  for i = 1, n do
    if list[i] ~= torch.none then out[i] = list[i] end
  end
  return out
end

---Makes a column of a list of values; nil and torch.none are null. Numbers become a tensor of `dtype`, else of the
---dtype of `like`, else float32 (int64 if all are integral and one is int64 cdata, uint64 if one requires it). With
---default = 'number', they become int64 if all are integral, else float64. Null is NaN among floats; integers and
---booleans with null become Masked. Booleans become a bool tensor, strings Strings, and tensors of one shape are
---stacked; tables and values of several types become Objects. Raises code 'argument', naming the column and the row, if
---a value does not fit the column's dtype.
---@param list any[] may have holes
---@param n integer rows
---@param of {name: string, like: data.Column?, dtype: string?, default: string?}
---@return data.Column
function values.to_column(list, n, of)
  local kinds, integral = survey(list, n, of.name)
  if only(kinds, 'null') then return nulls(n, of) end
  if only(kinds, 'number', 'int64', 'uint64', 'null') then return numbers(list, n, of, kinds, integral) end
  if only(kinds, 'boolean', 'null') then return booleans(list, n, of, kinds) end
  if only(kinds, 'string', 'null') then
    return Strings.from_list(list, n, column.is_strings(of.like) and of.like.binary)
  end
  if only(kinds, 'tensor') then return tensors(list, n, of) end
  return Objects(plain(list, n), n)
end

return values
