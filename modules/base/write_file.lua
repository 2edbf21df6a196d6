-- base/write_file.lua: writes a text to a file, or raises an error.

local system = require 'base._system'

---Writes the text to the file, and replaces its contents. The file appears complete under its name, or stays as it was.
---@param path string
---@param text string
---Errors: 'environment' with the system's reason.
---
---```lua
---local write_file = require 'base.write_file'
---local ok, failure = pcall(write_file, '/dev/full', 'text')
---assert(not ok and failure.code == 'environment')
---```
return function(path, text) system.write_file(path, text) end
