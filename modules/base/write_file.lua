-- base/write_file.lua: a file of one text, or an error.

local errors = require 'base.errors'

---Writes the text to the file, over what was there.
---@param path string
---@param text string
---Errors: 'environment' with the system's reason, also where the disk is full when the file is closed.
---
---```lua
---local write_file = require 'base.write_file'
---local ok, failure = pcall(write_file, '/dev/full', 'text')
---assert(not ok and failure.code == 'environment')
---```
return function(path, text)
  local file, reason = io.open(path, 'wb')
  if not file then errors.raise('environment', ('cannot write %s'):format(reason)) end
  local written, why = file:write(text)
  local closed, why_closed = file:close()
  if written and closed then return end
  errors.raise('environment', ("cannot write '%s': %s"):format(path, why or why_closed))
end
