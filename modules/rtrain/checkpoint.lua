-- rtrain/checkpoint.lua: Checkpoint: a reference to a folder. What is in the folder is the user's.

local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local system = require 'rtrain._system'

---A folder of files that the train function reports and gets back. Counterpart: ray.train.Checkpoint.
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
---@field path string absolute path of the folder
---@overload fun(path: string): Checkpoint
local Checkpoint = class('Checkpoint')

---@param path string the folder
function Checkpoint:init(path)
  if type(path) ~= 'string' then
    errors.raise('argument', ('Checkpoint: expected the path of a folder, got %s'):format(type(path)))
  end
  self.path = system.absolute(path)
end

Checkpoint.__tostring = function(self) return ('Checkpoint(%s)'):format(self.path) end

---A checkpoint of the files in a folder. Nothing is read or copied before it is reported.
---@param path string
---@return Checkpoint
function Checkpoint.from_directory(path) return Checkpoint(path) end

-- Releases what `lease` holds, then passes the results on or the error up.
local function release_and_return(lease, ok, ...)
  lease:release()
  if not ok then error((...), 0) end
  return ...
end

---Calls the function with the checkpoint's folder, which stays there until it returns, also when the run would drop it
---meanwhile. Read only: the folder is the checkpoint itself.
---@param fn fun(path: string): any
---@return any ... what the function returned
---Raises code 'checkpoint' when the files are not those that were committed, and what the function raises.
function Checkpoint:with_directory(fn)
  local lease = system.lease(self.path)
  return release_and_return(lease, xpcall(fn, errors.wrap, self.path))
end

---Copies the files to a folder.
---@param path? string made where missing; default a new temporary folder
---@return string path absolute path of the copy
function Checkpoint:to_directory(path)
  local target = path and system.absolute(path) or system.make_temp('checkpoint_tmp_')
  self:with_directory(function(dir) system.copy_tree(dir, target) end)
  return target
end

---What set_metadata stored; an empty table when nothing was.
---@return table
function Checkpoint:get_metadata() return system.get_metadata(self.path) end

---Replaces the metadata: plain data, outside the hashed part of the checkpoint.
---@param metadata table
function Checkpoint:set_metadata(metadata) system.set_metadata(self.path, metadata) end

---Sets some keys of the metadata.
---@param metadata table plain data
function Checkpoint:update_metadata(metadata)
  local merged = self:get_metadata()
  for key, value in next, metadata do merged[key] = value end
  self:set_metadata(merged)
end

return Checkpoint
