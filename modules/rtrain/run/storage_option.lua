-- rtrain/run/storage_option.lua: what a command needs that shows a run from a shell whose environment is this one's.

local system = require 'base._system'

---@param storage_path string
---@return string option " --storage PATH", empty for the storage that is meant without it
return function(storage_path)
  local ok, default = pcall(require('rtrain._host').storage_folder)
  return ok and storage_path == default and '' or ' --storage ' .. system.shell_word(storage_path)
end
