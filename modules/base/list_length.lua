-- base/list_length.lua: counts the items of a list that comes from a script.

local errors = require 'base.errors'

local function is_item(key) return type(key) == 'number' and key >= 1 and key % 1 == 0 end

---Returns the number of items. For a list with a nil in it, Lua's `#` may count only the first part.
---@param owner string beginning of the message
---@param list table
---@return integer
---Raises code 'argument' for a nil before the last item, and for any other field: with a name, 0, 1.5.
---
---```lua
---local list_length = require 'base.list_length'
---assert(list_length('layers', {'a', 'b'}) == 2)
---local ok, err = pcall(list_length, 'layers', {'a', nil, 'c'})
---assert(not ok and tostring(err):find('layers: item 2 of the list is nil', 1, true))
---```
local function list_length(owner, list)
  local last, field = 0, nil
  for key in next, list do
    if is_item(key) then
      last = math.max(last, key)
    elseif field == nil or tostring(key) < field then
      field = tostring(key)
    end
  end
  for i = 1, last do
    if rawget(list, i) == nil then errors.raise('argument', ('%s: item %d of the list is nil'):format(owner, i)) end
  end
  if field ~= nil then errors.raise('argument', ("%s: expected a list, got a table with a field '%s'"):format(owner, field)) end
  return last
end

return list_length
