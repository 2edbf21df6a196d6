-- rtrain/functions/tempdir.lua: train.tempdir(fn): a folder that is removed when the function returns.

local errors = require 'base.errors'
local phases = require 'base.phases'
local system = require 'base._system'
local session = require 'rtrain.session'

local function remove_and_return(path, depth, ok, ...)
  local state = session.peek()
  local is_taken = state and state.tempdirs[path] == 'taken'  -- by an upload that is still running
  if state then state.tempdirs[path] = nil end
  if not is_taken then system.remove_tree(path) end
  phases.leave(depth)
  if not ok then error((...), 0) end
  return ...
end

---Calls the function with a new empty folder and removes the folder afterwards, also after an error. In a worker the
---folder is on the file system of the results, so that a checkpoint made there is moved instead of copied.
---@param fn fun(path: string): any
---@return any ... the results of the function
---
---```lua
---local train = require 'rtrain'
---local path = train.tempdir(function(dir)
---  io.open(dir .. '/file', 'w'):close()
---  return dir
---end)
---assert(io.open(path .. '/file') == nil)
---```
local function tempdir(fn)
  local state, depth = session.peek(), phases.enter(phases.CHECKPOINT)
  local path
  if state then
    path = require('rtrain._worker').make_tempdir()
    state.tempdirs[path] = true
  else
    path = system.make_temp('rtrain-')
  end
  return remove_and_return(path, depth, xpcall(fn, errors.wrap, path))
end

return tempdir
