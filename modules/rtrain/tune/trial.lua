-- rtrain/tune/trial.lua: Trial: one configuration of a sweep, which is an ordinary run, and its state.

local class = require 'base.class'
local system = require 'base._system'

---@class rtrain.tune.Trial
---@field number integer from 0
---@field name string name of its run
---@field config table its param_space, resolved
---@field drawn table map name → drawn value: 'optimizer.lr' → 0.1
---@field status 'PENDING'|'RUNNING'|'PAUSED'|'TERMINATED'|'ERROR'
---@field index integer number of its last report, -1: none
---@field last? table numbers of its last report, with training_iteration and time_total_s
---@field reported table<string, true> names of the numbers in its reports
---@field error? string
---@field checkpoint? {path: string, after_index: integer} another trial's checkpoint, from which it continues
---@field has_checkpoint? boolean whether it has reported a checkpoint
---@field turn? integer order of the paused trials
---@field remark? string why the scheduler has stopped it
---@field process? table of rtrain._tune, while it runs
---@field started_s? number when the process was started
---@field has_begun? boolean whether a process of this sweep has run it
---@field ending? rtrain.tune.Decision decision to execute when its process has ended
local Trial = class('Trial')

---@param number integer
---@param name string
---@param config table
---@param drawn table
function Trial:init(number, name, config, drawn)
  self.number, self.name, self.config, self.drawn = number, name, config, drawn
  self.status, self.index, self._time_before_s = 'PENDING', -1, 0
  self.reported = {}
end

---Called when its process has been started.
---@param process table of rtrain._tune
function Trial:begin(process)
  self.process, self.status, self.started_s, self.ending, self.has_begun = process, 'RUNNING', system.monotonic(), nil, true
end

---Called when its process has ended.
function Trial:leave()
  self._time_before_s, self.process = self:time_s(), nil
end

---Returns how long its processes have run, in seconds.
---@return number
function Trial:time_s() return self._time_before_s + (self.process and system.monotonic() - self.started_s or 0) end

---@return boolean
function Trial:has_ended() return self.status == 'TERMINATED' or self.status == 'ERROR' end

-- Ray's statuses → those of a run, for display.
local SHOWN = {TERMINATED = 'FINISHED', ERROR = 'ERRORED'}

---Returns the status for display, with the names of a run's statuses. A trial that the scheduler has stopped is
---TERMINATED, as in Ray, and shown as STOPPED.
---@return string
function Trial:shown_status()
  if self.status == 'TERMINATED' and self.remark then return 'STOPPED' end
  return SHOWN[self.status] or self.status
end

---Stores the numbers of a report.
---@param index integer
---@param metrics table
function Trial:add(index, metrics)
  self.index, self.last = index, metrics
  for name in next, metrics do self.reported[name] = true end
end

return Trial
