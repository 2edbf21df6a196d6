-- rtrain/results/checkpoint.lua: Checkpoint: a reference to a folder. The contents of the folder belong to the user.

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
---@field path string absolute path of the folder; with a filesystem, its path there
---@field filesystem? StorageFilesystem the storage of the folder, if it is not on this machine
---@overload fun(path: string, options?: {filesystem: StorageFilesystem}): Checkpoint
local Checkpoint = class('Checkpoint')

---@param path string the folder
---@param options? {filesystem: StorageFilesystem} its `get` fetches the files when they are read
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

---Returns a checkpoint of the files in a folder. Nothing is read or copied until it is reported. A symlink to a path in
---the folder is kept; a symlink to a file outside of it is replaced by the file. Names are UTF-8.
---@param path string
---@return Checkpoint
function Checkpoint.from_directory(path) return Checkpoint(path) end

-- Folders whose hashes this process has verified.
local verified = {}

-- The first reader on a node verifies the hashes: within a run that is local rank 0.
local function is_verified(path)
  local state = session.peek()
  return verified[path] or (state ~= nil and state.context.local_rank ~= 0)
end

-- Verifies each committed checkpoint once, when its files are first read.
local function verify(path)
  if is_verified(path) then return end
  local ok, err = pcall(system.verify, path)
  if not ok then
    if session.peek() then require('rtrain._worker').set_damaged(path, err.message or tostring(err)) end
    error(err, 0)
  end
  verified[path] = true
end

-- Releases the lease, then returns the results or raises the error.
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

---Calls the function with the checkpoint's folder, which is kept until the function returns, even if the run drops the
---checkpoint. Do not write to it: the folder is the checkpoint itself. Only the folder from a filesystem is a copy,
---which is removed when the function returns. Ray equivalent: Checkpoint.as_directory.
---@param fn fun(path: string): any
---@return any ... the results of the function
---Raises code 'checkpoint' if the files differ from those that were committed, and the function's error.
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
---@param path? string created if missing; default a new temporary folder, checkpoint_tmp_…
---@return string path absolute path of the copy
function Checkpoint:to_directory(path)
  local target = path and system.absolute(path) or system.make_temp('checkpoint_tmp_')
  self:with_directory(function(dir) system.copy_tree(dir, target) end)
  return target
end

-- Collects the names within the folder, including those in subfolders.
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

---Returns the contents of the checkpoint's file of tensors, read by torch.load or torch.load_safetensors.
---@param options? {file: string, map_location: string} one of several files (.pt, .pth, .bin, .ckpt, .safetensors),
---  and the device for its tensors, default 'cpu'
---@return any value
---Errors: 'argument' if several files are possible, with their names; those of with_directory and torch.load.
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

---Returns the metadata of set_metadata; an empty table by default.
---@return table
function Checkpoint:get_metadata()
  check_local(self, 'get_metadata()')
  return system.get_metadata(self.path)
end

---Replaces the metadata: plain data, outside of the hashed part of the checkpoint.
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
