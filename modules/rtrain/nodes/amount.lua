-- rtrain/nodes/amount.lua: a number of bytes as text.

local UNITS = {{1e9, '%.1f GB'}, {1e6, '%.1f MB'}, {1e3, '%.0f kB'}}

---@param bytes number
---@return string text
---
---```lua
---local amount = require 'rtrain.nodes.amount'
---assert(amount(38448440) == '38.4 MB' and amount(12) == '12 bytes')
---```
return function(bytes)
  for _, unit in ipairs(UNITS) do
    if bytes >= unit[1] then return unit[2]:format(bytes / unit[1]) end
  end
  return ('%d bytes'):format(bytes)
end
