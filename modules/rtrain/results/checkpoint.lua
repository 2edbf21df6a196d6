-- rtrain/results/checkpoint.lua: Checkpoint: a reference to a folder. What is in the folder is the user's.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local session = require 'rtrain.session'
local storage = require 'rtrain.results.storage'
local system = require 'base._system'

---A folder of files that the train function reports and gets back. Ray equivalent: ray.train.Checkpoint.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---train.tempdir(function(dir)
---  torch.save({epoch = 7}, dir .. '/state.pt')
---  local checkpoint = train.Checkpoint.from_directory(dir)
---  assert(checkpoint:with_directory(function(path) return torch.load(path .. '/state.pt').epoch end) == 7)
---end)
---```
---@class Checkpoint
---@field path string absolute path of the folder; with a filesystem, what that knows it by
---@field filesystem? StorageFilesystem where it lies, when not on this machine
---@overload fun(path: string, options?: {filesystem: StorageFilesystem}): Checkpoint
local Checkpoint = class('Checkpoint')

---@param path string the folder
---@param options? {filesystem: StorageFilesystem} `get` of it brings the files when they are read
function Checkpoint:init(path, options)
  if type(path) ~= 'string' then
    errors.raise('argument', ('Checkpoint: expected the path of a folder, got %s'):format(type(path)))
  end
  if path == '' then
    errors.raise('argument', "Checkpoint: the path is '': expected the path of a folder, such as that of train.tempdir")
  end
  self.filesystem = args.options(options, {'filesystem'}, 'Checkpoint').filesystem
  if self.filesystem then
    local problem = storage.problem(self.filesystem, 'get')
    if problem then errors.raise('argument', 'Checkpoint: filesystem: ' .. problem) end
  end
  self.path = self.filesystem and path or system.absolute(path)
end

Checkpoint.__tostring = function(self) return ('Checkpoint(%s)'):format(self.path) end

---A checkpoint of the files in a folder. Nothing is read or copied before it is reported. A symlink to a place in the
---folder stays one; for one to a file outside the checkpoint gets the file. Names are UTF-8.
---@param path string
---@return Checkpoint
function Checkpoint.from_directory(path) return Checkpoint(path) end

-- Folders whose hashes this process has compared.
local verified = {}

-- The first reader on a host compares the hashes: in a run that is local rank 0.
local function is_verified(path)
  local state = session.peek()
  return verified[path] or (state ~= nil and state.context.local_rank ~= 0)
end

-- Once for each committed checkpoint, as its files are first read.
local function verify(path)
  if is_verified(path) then return end
  local ok, err = pcall(system.verify, path)
  if not ok then
    if session.peek() then require('rtrain._worker').set_damaged(path, err.message or tostring(err)) end
    error(err, 0)
  end
  verified[path] = true
end

-- Releases what `lease` holds, then passes the results on or the error up.
local function release_and_return(lease, ok, ...)
  lease:release()
  if not ok then error((...), 0) end
  return ...
end

local function remove_and_return(folder, ok, ...)
  system.remove_tree(folder)
  if not ok then error((...), 0) end
  return ...
end

---Calls the function with the checkpoint's folder, which stays there until it returns, also when the run would drop it
---meanwhile. Read only: the folder is the checkpoint itself; only that of a filesystem is a copy, gone when the function
---returns. Ray equivalent: Checkpoint.as_directory.
---@param fn fun(path: string): any
---@return any ... what the function returned
---Raises code 'checkpoint' when the files are not those that were committed, and what the function raises.
function Checkpoint:with_directory(fn)
  if self.filesystem then
    local folder = system.make_temp('checkpoint_tmp_')
    return remove_and_return(folder, xpcall(function()
      self.filesystem.get(self.path, folder)
      system.verify(folder)
      return fn(folder)
    end, errors.wrap))
  end
  local lease = system.lease(self.path)
  return release_and_return(lease, xpcall(function()
    verify(self.path)
    return fn(self.path)
  end, errors.wrap))
end

---Copies the files to a folder.
---@param path? string made where missing; default a new temporary folder, checkpoint_tmp_…
---@return string path absolute path of the copy
function Checkpoint:to_directory(path)
  local target = path and system.absolute(path) or system.make_temp('checkpoint_tmp_')
  self:with_directory(function(dir) system.copy_tree(dir, target) end)
  return target
end

-- Names within the folder, with those of folders in it.
local function files_below(folder, prefix, files)
  for _, name in ipairs(system.list_folder(folder)) do
    local path = folder .. '/' .. name
    if system.path_kind(path) == 'folder' then
      files_below(path, prefix .. name .. '/', files)
    else
      files[#files + 1] = prefix .. name
    end
  end
  return files
end

local function no_such_file(format, ...) errors.raise('argument', 'Checkpoint:load: ' .. format:format(...)) end

---What the checkpoint's file of tensors holds, as torch.load or torch.load_safetensors reads it.
---@param options? {file: string, map_location: string} which of several files (.pt, .pth, .bin, .ckpt, .safetensors), and the
---  device to which its tensors go, default 'cpu'
---@return any value
---Errors: 'argument' where it is not clear which file is meant, with their names; those of with_directory and torch.load.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---train.tempdir(function(dir)
---  torch.save({epoch = 7}, dir .. '/state.pt')
---  assert(train.Checkpoint.from_directory(dir):load().epoch == 7)
---end)
---```
function Checkpoint:load(options)
  options = args.options(options, {'file', 'map_location'}, 'Checkpoint:load')
  local tensor_file = require 'rtrain.results.tensor_file'
  return self:with_directory(function(folder)
    local file = tensor_file.choose(files_below(folder, '', {}), options.file, no_such_file, '{file = …}')
    return tensor_file.load(folder .. '/' .. file, {map_location = options.map_location or 'cpu'})
  end)
end

local function check_local(self, what)
  if not self.filesystem then return end
  errors.raise('unsupported', ('%s: the checkpoint lies in a filesystem: use to_directory() and a Checkpoint of that folder')
    :format(what))
end

---What set_metadata stored; an empty table when nothing was.
---@return table
function Checkpoint:get_metadata()
  check_local(self, 'get_metadata()')
  return system.get_metadata(self.path)
end

---Replaces the metadata: plain data, outside the hashed part of the checkpoint.
---@param metadata table
function Checkpoint:set_metadata(metadata)
  check_local(self, 'set_metadata()')
  system.set_metadata(self.path, metadata)
end

---Sets some keys of the metadata.
---@param metadata table plain data
function Checkpoint:update_metadata(metadata)
  local merged = self:get_metadata()
  for key, value in next, metadata do merged[key] = value end
  self:set_metadata(merged)
end

return Checkpoint
