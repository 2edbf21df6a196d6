-- rtrain/nodes/with_folder.lua: a temporary folder that only the user can read, for as long as a function runs.

local errors = require 'base.errors'
local system = require 'base._system'

---@param prefix string of its name
---@param use fun(folder: string): any
---@return any result of the function
---Errors: those of the function.
---
---```lua
---local with_folder = require 'rtrain.nodes.with_folder'
---local path = with_folder('rtrain-example-', function(folder) return folder end)
---assert(path:find 'rtrain%-example%-' and io.open(path) == nil)
---```
return function(prefix, use)
  local folder = system.make_temp(prefix)
  local ok, out = xpcall(use, errors.wrap, folder)
  system.remove_tree(folder)
  if not ok then error(out, 0) end
  return out
end
