-- rtrain/functions/async_save.lua: train.async_save: writes a checkpoint file while training continues.

local class = require 'base.class'
local errors = require 'base.errors'

---Saves like torch.save, but takes only the time of a copy in memory: a thread writes the copied values. One save runs
---at a time; the next one waits for it. `train.report` waits for the files of its checkpoint, so with
---checkpoint_upload_mode = 'ASYNC' neither the writing nor the commit delays the loop. The copy takes as much memory as
---the values, and is reused by the next save.
---@param obj any value, as for torch.save
---@param f string path
---@return AsyncSave save
---PyTorch equivalent: torch.distributed.checkpoint.async_save. Errors: 'argument' for a value that is not data.
---`save:result()` and the report of the folder raise errors of the file.
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
---@field done fun(self: AsyncSave): boolean whether the file is complete, or failed
---@field result fun(self: AsyncSave, timeout_s?: number) waits (1800 s at most); raises the error of a failed save
local function async_save(obj, f)
  local found = class.of(obj)
  if found then
    errors.raise('argument', ('train.async_save: a %s cannot be saved: save its state_dict()'):format(found.__name))
  end
  if type(f) ~= 'string' then errors.raise('argument', ('train.async_save: expected a path, got %s'):format(type(f))) end
  return require('torch._C').async_save(obj, require('base._system').absolute(f))
end

return async_save
