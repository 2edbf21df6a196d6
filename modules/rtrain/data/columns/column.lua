-- rtrain/data/columns/column.lua: functions for all kinds of columns: a tensor whose first dimension is the rows,
-- Masked, Strings, Objects.

local class = require 'base.class'
local Masked = require 'rtrain.data.columns.masked'
local numbers = require 'rtrain.data.columns.numbers'
local Objects = require 'rtrain.data.columns.objects'
local Strings = require 'torch.utils.data.strings'
local torch = require 'torch'
local unsigned = require 'rtrain.data.columns.unsigned'

local column = {}

---@alias data.Column torch.Tensor|data.Masked|data.Strings|data.Objects

local function is_tensor(value) return type(value) == 'userdata' and torch.is_tensor(value) end

---Returns whether a column is a tensor.
---@param value any
---@return boolean
function column.is_tensor(value) return is_tensor(value) end

---Returns whether a column holds strings.
---@param value any
---@return boolean
function column.is_strings(value) return class.is(value, Strings) end

---Returns whether a column holds integers or booleans that may be null.
---@param value any
---@return boolean
function column.is_masked(value) return class.is(value, Masked) end

---Returns whether a value is a column.
---@param value any
---@return boolean
function column.is(value)
  return is_tensor(value) or class.is(value, Masked) or class.is(value, Strings) or class.is(value, Objects)
end

---@param of data.Column
---@return integer rows
function column.len(of) return is_tensor(of) and of:size(0) or of:len() end

---Returns the rows start … start + length - 1, without a copy if possible.
---@param of data.Column
---@param start integer from 0
---@param length integer
---@return data.Column
function column.narrow(of, start, length)
  if is_tensor(of) then return of:narrow(0, start, length) end
  return of:narrow(start, length)
end

---Returns the rows at the given places, in that order.
---@param of data.Column
---@param indices torch.Tensor int64
---@return data.Column
function column.take(of, indices)
  if not is_tensor(of) then return of:take(indices) end
  return unsigned.moved(of, function(values) return values:index_select(0, indices) end)
end

local FLOATS = {float16 = true, bfloat16 = true, float32 = true, float64 = true}
local INTEGERS = {uint8 = true, int8 = true, int16 = true, int32 = true, int64 = true, uint16 = true, uint32 = true,
                  uint64 = true}

---Returns whether a type is an integer type.
---@param type string as text, see `type_of`
---@return boolean
function column.is_integer(type) return INTEGERS[type] or false end

---Returns the dtype for times and decimals of a file; other types are returned unchanged.
---@param type string as text, as a file's schema has it
---@return string
function column.plain_type(type)
  if type:match '^timestamp' or type:match '^date' or type:match '^time' or type:match '^duration' then return 'int64' end
  local scale = type:match '^decimal%d*%(%d+, (%-?%d+)%)$'
  return scale and (scale == '0' and 'int64' or 'float64') or type
end

---Returns the type that a column of this type gets when rows may be null, see `take_or_null`.
---@param type string as text, see `type_of`
---@return string
function column.optional_type(type)
  local plain = column.plain_type(type)
  local has_nulls = INTEGERS[plain] or FLOATS[plain] or plain == 'bool' or plain == 'string' or plain == 'binary'
  return has_nulls and type or 'object'
end

---Returns a column of nulls.
---@param type string as text, see `type_of`
---@param count integer
---@return data.Column
function column.nulls(type, count)
  type = column.plain_type(type)
  if INTEGERS[type] or type == 'bool' then return Masked.nulls(count, type) end
  if FLOATS[type] then return torch.full({count}, 0 / 0, {dtype = type}) end
  if type == 'string' or type == 'binary' then return Strings.from_list({}, count, type == 'binary') end
  return Objects({}, count)
end

---Returns whether all rows are null. NaN is a value here.
---@param of data.Column
---@return boolean
function column.is_null(of)
  if is_tensor(of) then return false end
  if class.is(of, Objects) then return of:is_null() end
  return of.valid ~= nil and not of.valid:any():item()
end

---Returns the rows at the given places, with null for a place of -1. Tensors with more dimensions become Lua values,
---since only these can be null.
---@param of data.Column|string a column, or the type of one without rows
---@param places torch.Tensor int64
---@return data.Column
function column.take_or_null(of, places)
  local count = places:size(0)
  if type(of) == 'string' then return column.nulls(of, count) end
  local missing, rows = places:lt(0), places:clamp{min = 0}
  if column.is_strings(of) then
    local taken = of:take(rows)
    local valid = missing:logical_not()
    if taken.valid then valid:logical_and_(taken.valid) end
    return Strings(taken.offsets, taken.bytes, {binary = taken.binary, valid = valid})
  end
  local taken = column.take(of, rows)
  if is_tensor(of) and of:dim() == 1 and not of:is_complex() then
    if taken:is_floating_point() then return taken:masked_fill(missing, 0 / 0) end
    taken = Masked.of(taken)
  end
  if column.is_masked(taken) then return taken:without(missing) end
  local values = column.values(taken)
  for i, is_missing in ipairs(missing:tolist()) do
    if is_missing then values[i] = nil end
  end
  return Objects(values, count)
end

---Returns one row: a Lua number, boolean or string, a tensor of one dimension less, a table; nil for null.
---@param of data.Column
---@param i integer from 0
---@return any value
function column.value(of, i)
  if not is_tensor(of) then return of:value(i) end
  local row = of:select(0, i)
  if row:dim() > 0 then return row end
  return row:item()
end

---Returns all rows as a Lua list, see `value`; null rows are holes.
---@param of data.Column
---@return any[]
function column.values(of)
  if not is_tensor(of) then return of:values() end
  if of:dim() == 1 then return of:tolist() end
  local out = {}
  for i = 0, of:size(0) - 1 do out[i + 1] = of:select(0, i) end
  return out
end

---Returns the column as a batch has it: a tensor, else a list with torch.none for null.
---@param of data.Column
---@return torch.Tensor|any[]
function column.to_batch(of)
  if is_tensor(of) then return of end
  if column.is_masked(of) and not of:has_null() then return of.data end
  local out = of:values()
  for i = 1, of:len() do
    if out[i] == nil then out[i] = torch.none end
  end
  return out
end

---Returns a column that may be modified without changing this one. Strings cannot be modified.
---@param of data.Column
---@return data.Column
function column.copy(of)
  if is_tensor(of) then return of:clone() end
  return column.is_strings(of) and of or of:copy()
end

local function same_rows(list)
  local shape = list[1]:size()
  for i = 2, #list do
    local other = list[i]:size()
    if #other ~= #shape then return false end
    for k = 2, #shape do
      if other[k] ~= shape[k] then return false end
    end
  end
  return true
end

local function all(list, test)
  for _, item in ipairs(list) do
    if not test(item) then return false end
  end
  return true
end

local function to_objects(of)
  if class.is(of, Objects) then return of end
  return Objects(column.values(of), column.len(of))
end

-- Returns the kind that all columns have, or nil. Columns without any value are ignored.
local function kind_of_all(list)
  local found
  for _, of in ipairs(list) do
    local kind = is_tensor(of) and of:dim() == 1 and not of:is_complex() and 'numbers' or column.is_masked(of) and 'numbers'
      or column.is_strings(of) and 'strings' or nil
    if kind == nil and not column.is_null(of) or kind and found and found ~= kind then return nil end
    found = found or kind
  end
  return found
end

local function concat_strings(list)
  local binary, parts = false, {}
  for _, of in ipairs(list) do binary = binary or column.is_strings(of) and of.binary end
  for i, of in ipairs(list) do
    parts[i] = column.is_strings(of) and of or Strings.from_list({}, column.len(of), binary)
  end
  return Strings.concat(parts)
end

---Concatenates the rows of several columns: the result keeps their kind if they agree, else it is Objects. Rows without
---a value agree with any numbers and strings.
---@param list data.Column[]
---@param name string of the column, for messages
---@return data.Column
function column.concat(list, name)
  if #list == 1 then return list[1] end
  if all(list, is_tensor) and same_rows(list) then return numbers.concat(list, name) end
  local kind = kind_of_all(list)
  if kind == 'numbers' then return numbers.concat(list, name) end
  if kind == 'strings' then return concat_strings(list) end
  local objects = {}
  for i, part in ipairs(list) do objects[i] = to_objects(part) end
  return Objects.concat(objects)
end

---@param of data.Column
---@return integer bytes
function column.size_bytes(of)
  if is_tensor(of) then return of:numel() * of:element_size() end
  return of:size_bytes()
end

---Returns the type of a column as text: 'int64', 'float32 (3, 32, 32)', 'string', 'binary', 'object'.
---@param of data.Column
---@return string
function column.type_of(of)
  if class.is(of, Strings) then return of.binary and 'binary' or 'string' end
  if class.is(of, Objects) then return 'object' end
  if class.is(of, Masked) then return of.data.dtype end
  local shape = of:size()
  if #shape == 1 then return of.dtype end
  return ('tensor<%s>[%s]'):format(of.dtype, table.concat(shape, ',', 2))
end

local function masked_table(of) return {kind = 'masked', values = of.data, valid = of.valid} end

---Returns a plain value that can be sent to another thread, for `unpack`.
---@param of data.Column
---@return torch.Tensor|table
function column.pack(of)
  if is_tensor(of) then return of end
  if class.is(of, Masked) then return masked_table(of) end
  if class.is(of, Strings) then
    return {kind = 'strings', offsets = of.offsets, bytes = of.bytes, binary = of.binary, valid = of.valid}
  end
  return {kind = 'objects', values = column.to_batch(of), n = of.n}
end

-- Converts a tensor among Lua values to lists of numbers.
local function plain_value(value)
  return is_tensor(value) and value:tolist() or value
end

---Returns the argument for torch._C.data.to_arrow.
---@param of data.Column
---@return torch.Tensor|table
function column.to_arrow(of)
  if is_tensor(of) then return of end
  if class.is(of, Masked) then return masked_table(of) end
  if class.is(of, Strings) then
    local whole = of:compact()
    return {kind = whole.binary and 'binary' or 'strings', offsets = whole.offsets, bytes = whole.bytes, valid = whole.valid}
  end
  local values = of:values()
  for i = 1, of.n do values[i] = plain_value(values[i]) end
  return {kind = 'objects', values = values, n = of.n}
end

local function without_none(values, n)
  local out = {}
  for i = 1, n do
    if values[i] ~= torch.none then out[i] = values[i] end
  end
  return out
end

---Returns the column that `pack` took apart, or a column that comes from Arrow: kinds 'masked', 'strings', 'binary',
---'objects'.
---@param packed torch.Tensor|table
---@return data.Column
function column.unpack(packed)
  if is_tensor(packed) then return packed end
  if packed.kind == 'masked' then return Masked(packed.values, packed.valid) end
  if packed.kind == 'objects' then return Objects(without_none(packed.values, packed.n), packed.n) end
  local is_binary = packed.binary or packed.kind ~= 'strings'
  return Strings(packed.offsets, packed.bytes, {binary = is_binary, valid = packed.valid})
end

return column
