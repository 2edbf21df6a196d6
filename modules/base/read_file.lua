-- base/read_file.lua: reads a whole file.

---@param path string
---@return string? text nil if the file cannot be read
---@return string? reason the system's message with the path: 'train.lua: No such file or directory'
---
---```lua
---local read_file = require 'base.read_file'
---local text, reason = read_file '/nowhere/train.lua'
---assert(text == nil and reason == '/nowhere/train.lua: No such file or directory')
---```
return function(path)
  local file, reason = io.open(path, 'rb')
  if not file then return nil, reason end
  local text, problem = file:read '*a'
  file:close()
  if text then return text end
  return nil, ('%s: %s'):format(path, problem)
end
