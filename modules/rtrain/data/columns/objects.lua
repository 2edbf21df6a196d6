-- rtrain/data/columns/objects.lua: a column of Lua values: tables, tensors of different sizes, values of several types.

local class = require 'base.class'
local torch = require 'torch'

---A column of Lua values of a Block. Arguments: values, a list that may have holes (null); n, the number of rows.
---
---```lua
---local Objects = require 'rtrain.data.columns.objects'
---local lists = Objects({{1, 2}, {3}}, 2)
---assert(lists:value(1)[1] == 3 and lists:narrow(1, 1):len() == 1)
---```
---@class data.Objects
---@field n integer
---@overload fun(values: any[], n: integer): data.Objects
local Objects = class('Objects')

function Objects:init(values, n) self._values, self.n = values, n end

---@return integer rows
function Objects:len() return self.n end

---Returns the rows start … start + length - 1.
---@param start integer from 0
---@param length integer
---@return data.Objects
function Objects:narrow(start, length)
  local out = {}
  for i = 1, length do out[i] = self._values[start + i] end
  return Objects(out, length)
end

---Returns the rows at the given places, in that order.
---@param indices torch.Tensor int64 (n), from 0
---@return data.Objects
function Objects:take(indices)
  local out, rows = {}, indices:tolist()
  for i, row in ipairs(rows) do out[i] = self._values[row + 1] end
  return Objects(out, #rows)
end

---Concatenates the rows of several columns.
---@param list data.Objects[]
---@return data.Objects
function Objects.concat(list)
  local out, at = {}, 0
  for _, part in ipairs(list) do
    for i = 1, part.n do out[at + i] = part._values[i] end
    at = at + part.n
  end
  return Objects(out, at)
end

---@return boolean whether all rows are null
function Objects:is_null() return next(self._values) == nil end

---Returns which rows are not null.
---@return torch.Tensor bool (rows)
function Objects:valid()
  local out = {}
  for i = 1, self.n do out[i] = self._values[i] ~= nil end
  return torch.tensor(out, {dtype = 'bool'})
end

---Returns one row.
---@param i integer from 0
---@return any value nil for null
function Objects:value(i) return self._values[i + 1] end

---Returns all rows as a new list.
---@return any[] list with holes where rows are null
function Objects:values()
  local out = {}
  for i = 1, self.n do out[i] = self._values[i] end
  return out
end

-- Returns roughly the bytes of a value: LuaJIT takes 40 bytes for each entry of a table.
local function size_of(value)
  local kind = type(value)
  if kind == 'string' then return #value + 24 end
  if kind == 'userdata' and torch.is_tensor(value) then return value:numel() * value:element_size() + 64 end
  if kind ~= 'table' then return 8 end
  local bytes = 40
  for _, item in next, value do bytes = bytes + 40 + size_of(item) end
  return bytes
end

-- Looking at each value of a long column would cost more than the operation itself.
local SAMPLES = 64

---@return integer bytes an estimate from some of the rows
function Objects:size_bytes()
  local bytes, step = 0, math.max(1, math.floor(self.n / SAMPLES))
  local seen = 0
  for i = 1, self.n, step do bytes, seen = bytes + size_of(self._values[i]), seen + 1 end
  return seen > 0 and math.ceil(bytes * self.n / seen) or 0
end

local function copied(value)
  if type(value) == 'userdata' and torch.is_tensor(value) then return value:clone() end
  if type(value) ~= 'table' or value == torch.none then return value end
  local out = {}
  for key, item in next, value do out[key] = copied(item) end
  return setmetatable(out, getmetatable(value))
end

---Returns a column that shares no tables or tensors with this one.
---@return data.Objects
function Objects:copy()
  local out = {}
  for i = 1, self.n do out[i] = copied(self._values[i]) end
  return Objects(out, self.n)
end

return Objects
