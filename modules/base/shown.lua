-- base/shown.lua: formats a value for messages.

local number = require 'base.number'

---@param value any
---@return string text "'x'", '3', 'true', 'nil', else 'a table' and the like
---
---```lua
---local shown = require 'base.shown'
---assert(shown 'x' == "'x'" and shown(3) == '3' and shown {} == 'a table')
---```
return function(value)
  if type(value) == 'string' then return ("'%s'"):format(value) end
  if type(value) == 'number' or type(value) == 'boolean' or value == nil then return tostring(value) end
  if number.of(value) then return number.text(value) end
  return 'a ' .. type(value)
end
