-- rtrain/run/storage_option.lua: what a command needs that shows a run from a shell whose environment is this one's.

local system = require 'base._system'

---@param storage_path string a folder; one that stands for an object store is named by its URI
---@return string option " --storage PATH", empty for the storage that is meant without it
return function(storage_path)
  local host = require 'rtrain._host'
  local ok, default = pcall(host.storage_folder)
  return ok and storage_path == default and '' or
    ' --storage ' .. system.shell_word(host.storage_uri(storage_path) or storage_path)
end
