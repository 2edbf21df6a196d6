-- rtrain/launch/submit/quoted.lua: quotes a string so that YAML, JSON and Python all read it in the same way.

---@param text string
---@return string quoted
---
---```lua
---local quoted = require 'rtrain.launch.submit.quoted'
---assert(quoted 'a "b"' == '"a \\u0022b\\u0022"')
---```
return function(text)
  return '"' .. text:gsub('[%c"\\]', function(char) return ('\\u%04x'):format(char:byte()) end) .. '"'
end
