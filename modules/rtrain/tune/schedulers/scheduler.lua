-- rtrain/tune/schedulers/scheduler.lua: FIFOScheduler: the base of all schedulers, which lets all trials run.
--
-- Schedulers are pure: they use no clock and no file. The same calls give the same decisions, so a killed sweep can be
-- replayed.

local class = require 'base.class'

---@class rtrain.tune.Decision
---@field action 'CONTINUE'|'STOP'|'PAUSE'
---@field reason? string why the trial stops: the run keeps it as an annotation
---@field can_pause? boolean with CONTINUE: another trial may train first
---@field exploit? {donor: integer, config: table} continue from the donor's checkpoint, with another config

---Lets every trial run to its end. Ray equivalent: ray.tune.schedulers.FIFOScheduler.
---@class rtrain.tune.FIFOScheduler
local FIFOScheduler = class('FIFOScheduler')

FIFOScheduler.CONTINUE = {action = 'CONTINUE'}

---Whether trials wait for the scheduler's decision after each report.
FIFOScheduler.decides = false

---@param options? table has no fields
function FIFOScheduler:init(options) require 'base.args'.options(options, {}, 'FIFOScheduler', 'config') end

---Sets the TuneConfig's values, unless the scheduler was given its own.
---@param metric? string
---@param mode? 'min'|'max'
---@param seed? integer seed of its draws
function FIFOScheduler:set_search_properties(metric, mode, seed)
  self.metric, self.mode = self.metric or metric, self.mode or mode
  self.seed = seed
end

-- Stores the fields of its options, which are a config.
function FIFOScheduler:_take(options)
  self._options = options
  for _, field in ipairs(options._fields) do self[field[1]] = options[field[1]] end
end

-- Returns a text such as 'AsyncHyperBandScheduler max_t=100 …', which must be the same when a sweep continues.
function FIFOScheduler:_identity()
  local texts = {self._options.__name}
  for _, field in ipairs(self._options._fields) do
    local value = self[field[1]]
    if value ~= nil and type(value) ~= 'table' and type(value) ~= 'function' then
      texts[#texts + 1] = ('%s=%s'):format(field[1], tostring(value))
    end
  end
  return table.concat(texts, ' ')
end

function FIFOScheduler:_stop(reason)
  return {action = 'STOP', reason = ('%s: %s'):format(class.of(self).__name, reason)}
end

---Returns the score of a result; larger is better.
---@param result table
---@return number
function FIFOScheduler:score(result)
  return self:_metric_of(result[self.metric])
end

-- Converts a score to the metric, and a metric to the score.
function FIFOScheduler:_metric_of(value) return self.mode == 'min' and -value or value end

---Returns whether a result has the metrics that the scheduler needs.
---@param result table
---@return boolean
function FIFOScheduler:_has_result(result)
  return result ~= nil and result[self.time_attr] ~= nil and result[self.metric] ~= nil
end

---Called before a trial begins: adds values to its config.
---@param number integer
---@param config table changed in place
function FIFOScheduler:fill_config() end

---Called when a trial continues from another trial's checkpoint.
---@param number integer
---@param config table its new config
function FIFOScheduler:on_trial_exploit() end

---Called when a trial begins.
---@param number integer
---@param config table
function FIFOScheduler:on_trial_add() end

---Called when a trial has reported.
---@param number integer
---@param result table metrics, with training_iteration and time_total_s
---@param state {has_checkpoint: boolean} whether the trial has reported a checkpoint
---@return rtrain.tune.Decision
function FIFOScheduler:on_trial_result() return FIFOScheduler.CONTINUE end

---Called when a trial has ended by itself, not when the scheduler has stopped it.
---@param number integer
---@param result? table its last result
function FIFOScheduler:on_trial_complete() end

---Called when a trial has failed.
---@param number integer
function FIFOScheduler:on_trial_error() end

return FIFOScheduler
