-- base/index_of.lua: returns the index of a value in a list.

---@param list any[]
---@param value any
---@return integer? index of the first value that equals it
---
---```lua
---local index_of = require 'base.index_of'
---assert(index_of({'a', 'b'}, 'b') == 2 and index_of({'a', 'b'}, 'c') == nil)
---```
return function(list, value)
  for i, item in ipairs(list) do
    if item == value then return i end
  end
  return nil
end
