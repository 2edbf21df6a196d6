-- base/is_list.lua: whether a table is a list.

---Returns whether the keys of a table are exactly 1 … n; an empty table is also a list. Lua's `#` cannot answer this:
---with a nil in the list it may give the length of the first part, and it ignores other keys.
---@param value table
---@return boolean
---
---```lua
---local is_list = require 'base.is_list'
---assert(is_list {'a', 'b'} and is_list {} and not is_list {1, nil, 3} and not is_list {1, x = 2} and not is_list {[0] = 1, 2})
---```
local function is_list(value)
  local count, last = 0, 0
  for key in next, value do
    if type(key) ~= 'number' or key < 1 or key % 1 ~= 0 then return false end
    count = count + 1
    if key > last then last = key end
  end
  return count == last
end

return is_list
