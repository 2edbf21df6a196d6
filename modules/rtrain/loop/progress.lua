-- rtrain/loop/progress.lua: Progress: the progress of a loop, equal on all ranks, and its state in a checkpoint.

local class = require 'base.class'

local Progress = class('Progress')

---@param callbacks train.loop.Callback[]
function Progress:init(callbacks)
  self._callbacks = callbacks
  self.epoch, self.batch_idx, self.global_step = 0, 0, 0
  self.should_stop, self.stop_reason = false, nil
  self.world_size = nil  -- world size at the begin of the epoch
end

---@return table state plain data
function Progress:state_dict()
  local callbacks = {}
  for i, callback in ipairs(self._callbacks) do
    callbacks[i] = {name = class.of(callback).__name, state = callback.state_dict and callback:state_dict() or false}
  end
  return {epoch = self.epoch, batch_idx = self.batch_idx, global_step = self.global_step,
          should_stop = self.should_stop, stop_reason = self.stop_reason or false, callbacks = callbacks,
          world_size = self.world_size}
end

-- Matches the callbacks by place and class: the script may have changed its list since.
local function load_callbacks(callbacks, saved)
  for i, callback in ipairs(callbacks) do
    local entry = saved[i]
    if entry and entry.state and entry.name == class.of(callback).__name then callback:load_state_dict(entry.state) end
  end
end

---@param state table a result of state_dict
function Progress:load_state_dict(state)
  self.epoch, self.batch_idx, self.global_step = state.epoch, state.batch_idx, state.global_step
  self.should_stop, self.stop_reason = state.should_stop, state.stop_reason or nil
  self.world_size = state.world_size
  load_callbacks(self._callbacks, state.callbacks)
end

return Progress
