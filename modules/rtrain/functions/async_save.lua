-- rtrain/functions/async_save.lua: train.async_save: a checkpoint file that is written while training goes on.

local class = require 'base.class'
local errors = require 'base.errors'

---Saves as torch.save does, in the time that a copy in memory takes: the values are those of this moment, a thread writes
---them. One save is under way at a time; the next one waits for it. `train.report` waits for the files of the checkpoint
---that it is given, so with checkpoint_upload_mode = 'ASYNC' neither the writing nor the commit keeps the loop waiting. The
---copy takes as much memory as the values, and keeps it for the next save.
---@param obj any what torch.save takes
---@param f string path
---@return AsyncSave save
---PyTorch equivalent: torch.distributed.checkpoint.async_save. Errors: 'argument' for a value that is not data. What goes wrong
---with the file is raised by `save:result()` and by the report of its folder.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---train.tempdir(function(dir)
---  local weight = torch.ones(3)
---  local save = train.async_save({weight = weight}, dir .. '/state.pt')
---  weight:zero_()  -- too late to be saved
---  save:result()
---  assert(torch.load(dir .. '/state.pt').weight:sum():item() == 3)
---end)
---```
---@class AsyncSave
---@field done fun(self: AsyncSave): boolean whether the file is there, or failed
---@field result fun(self: AsyncSave, timeout_s?: number) waits (1800 s at most); raises what went wrong
local function async_save(obj, f)
  local found = class.of(obj)
  if found then
    errors.raise('argument', ('train.async_save: a %s cannot be saved: save its state_dict()'):format(found.__name))
  end
  if type(f) ~= 'string' then errors.raise('argument', ('train.async_save: expected a path, got %s'):format(type(f))) end
  return require('torch._C').async_save(obj, require('base._system').absolute(f))
end

return async_save
