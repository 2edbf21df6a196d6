-- rtrain/run/storage_option.lua: formats the --storage option for a command that shows the run from this process's
-- shell.

local system = require 'base._system'

---@param storage_path string a folder; the copy of an object store is named by its URI
---@return string option " --storage PATH", empty for the default storage
return function(storage_path)
  local host = require 'rtrain._host'
  local ok, default = pcall(host.storage_folder)
  return ok and storage_path == default and '' or
    ' --storage ' .. system.shell_word(host.storage_uri(storage_path) or storage_path)
end
