-- rtrain/tune/schedulers/scheduler.lua: TrialScheduler: what every scheduler gets to know, and the one that
-- lets all trials run.
--
-- Schedulers are pure: no clock, no file. The same calls give the same decisions, which is how a sweep that was killed comes
-- back to where it was.

local class = require 'base.class'

---@class rtrain.tune.Decision
---@field action 'CONTINUE'|'STOP'|'PAUSE'
---@field reason? string why it stops: the run keeps it as an annotation
---@field can_pause? boolean of CONTINUE: another trial may train first
---@field exploit? {donor: integer, config: table} go on from the donor's checkpoint, with another config

---Lets every trial run to its end. Ray equivalent: ray.tune.schedulers.FIFOScheduler.
---@class rtrain.tune.FIFOScheduler
local FIFOScheduler = class('FIFOScheduler')

FIFOScheduler.CONTINUE = {action = 'CONTINUE'}

---Whether trials wait for its decision after each report.
FIFOScheduler.decides = false

---@param options? table none
function FIFOScheduler:init(options) require 'base.args'.options(options, {}, 'FIFOScheduler', 'config') end

---What the TuneConfig says, where the scheduler was not given it.
---@param metric? string
---@param mode? 'min'|'max'
---@param seed? integer of what it draws
function FIFOScheduler:set_search_properties(metric, mode, seed)
  self.metric, self.mode = self.metric or metric, self.mode or mode
  self.seed = seed
end

-- Takes the fields of its options, which are a config.
function FIFOScheduler:_take(options)
  self._options = options
  for _, field in ipairs(options._fields) do self[field[1]] = options[field[1]] end
end

-- 'AsyncHyperBandScheduler max_t=100 …': the same for the same decisions. A sweep that goes on has to have it.
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

---A value that is the larger the better.
---@param result table
---@return number
function FIFOScheduler:score(result)
  return self:_metric_of(result[self.metric])
end

-- The metric of a score, and the other way round.
function FIFOScheduler:_metric_of(value) return self.mode == 'min' and -value or value end

---Whether a result has what the scheduler looks at.
---@param result table
---@return boolean
function FIFOScheduler:_has_result(result)
  return result ~= nil and result[self.time_attr] ~= nil and result[self.metric] ~= nil
end

---A trial is to begin: what it adds to its config.
---@param number integer
---@param config table changed in place
function FIFOScheduler:fill_config() end

---A trial goes on from another one's checkpoint.
---@param number integer
---@param config table its new one
function FIFOScheduler:on_trial_exploit() end

---A trial begins.
---@param number integer
---@param config table
function FIFOScheduler:on_trial_add() end

---A trial has reported.
---@param number integer
---@param result table metrics, with training_iteration and time_total_s
---@param state {has_checkpoint: boolean} whether the trial has reported one
---@return rtrain.tune.Decision
function FIFOScheduler:on_trial_result() return FIFOScheduler.CONTINUE end

---A trial has ended by itself. One that it has stopped is not told of again.
---@param number integer
---@param result? table its last one
function FIFOScheduler:on_trial_complete() end

---A trial has failed.
---@param number integer
function FIFOScheduler:on_trial_error() end

return FIFOScheduler
