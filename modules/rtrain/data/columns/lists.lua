-- rtrain/data/columns/lists.lua: columns with a list in each row, and table keys for their values.

local column = require 'rtrain.data.columns.column'
local torch = require 'torch'

local lists = {}

local function is_tensor(value) return type(value) == 'userdata' and torch.is_tensor(value) end

local function is_list(value) return is_tensor(value) or type(value) == 'table' and value ~= torch.none end

---Returns the rows of a column as Lua lists; nil if its first value is not a list or tensor.
---@param of data.Column
---@return any[][]? rows with holes where rows are null
---
---```lua
---local lists, torch = require 'rtrain.data.columns.lists', require 'torch'
---assert(lists.rows(torch.zeros(2, 3))[2][3] == 0 and lists.rows(torch.zeros(2)) == nil)
---```
function lists.rows(of)
  if column.is_tensor(of) then return of:dim() > 1 and of:tolist() or nil end
  if column.is_strings(of) or column.is_masked(of) then return nil end
  local values, found = of:values(), false
  for i = 1, of:len() do
    local value = values[i]
    if value ~= nil then
      if not found and not is_list(value) then return nil end
      found = true
      if is_tensor(value) then values[i] = value:tolist() end
    end
  end
  return found and values or nil
end

---Returns a key for a table that is the same for equal values: int64 beyond 2^53 is cdata, and lists are tables, which Lua
---compares by identity.
---@param value any a number, string, boolean, torch.none, or a list of these
---@return any key
---
---```lua
---local lists = require 'rtrain.data.columns.lists'
---assert(lists.key {'a', 1} == lists.key {'a', 1} and lists.key {'a1'} ~= lists.key {'a', 1})
---```
function lists.key(value)
  if type(value) == 'cdata' then return tostring(value) end
  if is_tensor(value) then value = value:tolist() end
  if type(value) ~= 'table' or value == torch.none then return value end
  local parts = {}
  for i, item in ipairs(value) do
    local key = tostring(lists.key(item))
    parts[i] = ('%s%d:%s'):format(type(item):sub(1, 1), #key, key)
  end
  return '\1' .. table.concat(parts)
end

return lists
