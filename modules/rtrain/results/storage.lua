-- rtrain/results/storage.lua: storage_filesystem: copies of checkpoints in another storage, by functions of the user.

local errors = require 'base.errors'
local system = require 'base._system'

---Functions that keep copies of checkpoints in another storage, for RunConfig.storage_filesystem. The script's own
---thread calls them during the run, one at a time; an error becomes a warning, and the call is repeated when the run
---ends. A remote path is relative: `<run>/checkpoints/<name>`.
---@class StorageFilesystem
---@field put fun(local_path: string, remote_path: string) copies a committed checkpoint's folder there
---@field get? fun(remote_path: string, local_path: string) copies a checkpoint back, into an empty folder: needed if
---  a continued run no longer has its own folder
---@field delete? fun(remote_path: string) called when the run has dropped the checkpoint
---@field list? fun(remote_path: string): string[] lists the existing files; called before `get`

local storage = {}

local NAMES = {'put', 'get', 'list', 'delete'}

---Returns the error in a storage_filesystem as text, or nil.
---@param value any
---@param needed? string name of a required function
---@return string? problem
function storage.problem(value, needed)
  if type(value) ~= 'table' then return 'expected a table {put = …, get = …, list = …, delete = …}' end
  for name, fn in next, value do
    local known = name == 'put' or name == 'get' or name == 'list' or name == 'delete'
    if not known then
      return ("unknown function '%s'%s"):format(tostring(name), errors.suggestion(tostring(name), NAMES))
    end
    if type(fn) ~= 'function' then return ('%s is not a function'):format(name) end
  end
  if needed and value[needed] == nil then return ('it needs the function %s'):format(needed) end
end

-- Copies a checkpoint to the storage; returns false if the run has dropped it.
local function put(fs, wanted)
  local ok, lease = pcall(system.lease, wanted.path)
  if not ok then return false end
  local done, err = xpcall(fs.put, errors.wrap, wanted.path, wanted.remote)
  lease:release()
  if not done then error(err, 0) end
  return true
end

local function get(fs, wanted)
  if fs.list and #(fs.list(wanted.remote) or {}) == 0 then
    errors.raise('not_found', ('storage_filesystem.list: nothing in %s'):format(wanted.remote))
  end
  fs.get(wanted.remote, wanted.path)
  return true
end

---Registers the functions as answers to the controller's requests.
---@param calls table rtrain.run.script_calls
---@param fs? StorageFilesystem
function storage.answer(calls, fs)
  if fs == nil then return end
  calls:on('storage_filesystem.put', function(wanted) return put(fs, wanted) end)
  calls:on('storage_filesystem.get', function(wanted) return get(fs, wanted) end)
  calls:on('storage_filesystem.delete', function(wanted)
    if fs.delete then fs.delete(wanted.remote) end
    return true
  end)
end

return storage
