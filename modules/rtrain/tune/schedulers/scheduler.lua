-- rtrain/tune/schedulers/scheduler.lua: TrialScheduler: what every scheduler gets to know, and the one that
-- lets all trials run.
--
-- Schedulers are pure: no clock, no file. The same calls give the same decisions, which is how a sweep that was killed comes
-- back to where it was.

local class = require 'base.class'

---@class rtrain.tune.Decision
---@field action 'CONTINUE'|'STOP'|'PAUSE'
---@field exploit? {donor: integer, config: table} go on from the donor's checkpoint, with another config

---Lets every trial run to its end. Ray equivalent: ray.tune.schedulers.FIFOScheduler.
---@class rtrain.tune.FIFOScheduler
local FIFOScheduler = class('FIFOScheduler')

FIFOScheduler.CONTINUE = {action = 'CONTINUE'}
FIFOScheduler.STOP = {action = 'STOP'}

---Whether trials wait for its decision after each report.
FIFOScheduler.decides = false

---@param options? table none
function FIFOScheduler:init(options) require 'base.args'.options(options, {}, 'FIFOScheduler', 'config') end

---What the TuneConfig says, where the scheduler was not given it.
---@param metric? string
---@param mode? 'min'|'max'
function FIFOScheduler:set_search_properties(metric, mode)
  self.metric, self.mode = self.metric or metric, self.mode or mode
end

---A value that is the larger the better.
---@param result table
---@return number
function FIFOScheduler:score(result)
  local value = result[self.metric]
  return self.mode == 'min' and -value or value
end

---Whether a result has what the scheduler looks at.
---@param result table
---@return boolean
function FIFOScheduler:_has_result(result)
  return result ~= nil and result[self.time_attr] ~= nil and result[self.metric] ~= nil
end

---A trial begins.
---@param number integer
---@param config table
function FIFOScheduler:on_trial_add() end

---A trial has reported.
---@param number integer
---@param result table metrics, with training_iteration and time_total_s
---@return rtrain.tune.Decision
function FIFOScheduler:on_trial_result() return FIFOScheduler.CONTINUE end

---A trial has ended by itself, or was stopped.
---@param number integer
---@param result? table its last one
function FIFOScheduler:on_trial_complete() end

---A trial has failed.
---@param number integer
function FIFOScheduler:on_trial_error() end

return FIFOScheduler
