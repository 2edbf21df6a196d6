-- rtrain/tune/schedulers/median_stopping_rule.lua: MedianStoppingRule: stops trials that are worse than the median of
-- the others.

local class = require 'base.class'
local FIFOScheduler = require 'rtrain.tune.schedulers.scheduler'
local schema = require 'rtrain.config.schema'

local function not_negative(value)
  if type(value) ~= 'number' or value ~= value or value < 0 then return 'expected a number of at least 0' end
end

local Options = schema.define('MedianStoppingRule', {
  {'time_attr', default = 'time_total_s', check = schema.string},
  {'metric', check = schema.string},
  {'mode', check = schema.one_of('min', 'max')},
  {'grace_period', default = 60, check = not_negative},
  {'min_samples_required', default = 3, check = schema.integer(1)},
  {'min_time_slice', absent = 'a trial is not paused while there are too few others to compare it with: it goes on'},
  {'hard_stop', default = true, absent = 'a trial that is worse than the median ends'},
})

---@class rtrain.tune.MedianStoppingRuleOptions
---@field time_attr? string the measure of time: 'time_total_s' (default), 'training_iteration', or a metric
---@field metric? string default: the TuneConfig's
---@field mode? 'min'|'max' default: the TuneConfig's
---@field grace_period? number no trial is stopped earlier, and earlier reports are ignored; default 60
---@field min_samples_required? integer how many other trials must have reached that time; default 3

---Stops a trial whose best result is worse than the median of the others' means up to the same time. Ray equivalent:
---ray.tune.schedulers.MedianStoppingRule; Golovin et al., Google Vizier (2017).
---
---```lua
---local train = require 'rtrain'
---local rule = train.tune.schedulers.MedianStoppingRule {
---  time_attr = 'training_iteration', metric = 'loss', mode = 'min', grace_period = 1, min_samples_required = 2,
---}
---for trial, loss in ipairs {1, 2} do rule:on_trial_result(trial, {training_iteration = 3, loss = loss}) end
---local decision = rule:on_trial_result(3, {training_iteration = 3, loss = 1.6})
---assert(decision.action == 'STOP')
---```
---@class rtrain.tune.MedianStoppingRule: rtrain.tune.FIFOScheduler
---@overload fun(options?: rtrain.tune.MedianStoppingRuleOptions): rtrain.tune.MedianStoppingRule
local MedianStoppingRule = class('MedianStoppingRule', FIFOScheduler)

MedianStoppingRule.decides = true

---@param options? rtrain.tune.MedianStoppingRuleOptions
---Raises code 'config' for an unknown field or a wrong value.
function MedianStoppingRule:init(options)
  self:_take(Options(options))
  self._numbers = {}  -- numbers of the trials that have reported, in order
  self._reports = {}  -- number → list of {time =, score =}
end

local function is_finite(x) return x == x and math.abs(x) < math.huge end

-- Returns the mean of a trial's scores from the grace period to the time; nil if it has no scores or has not reached
-- the time.
local function mean_until(self, number, time)
  local reports = self._reports[number]
  if reports[#reports].time < time then return nil end
  local sum, count = 0, 0
  for _, report in ipairs(reports) do
    if report.time >= self.grace_period and report.time <= time then
      sum, count = sum + report.score, count + 1
    end
  end
  return count > 0 and sum / count or nil
end

local function median(values)
  table.sort(values)
  local middle = math.floor(#values / 2)
  if #values % 2 == 1 then return values[middle + 1] end
  return (values[middle] + values[middle + 1]) / 2
end

-- NaN is worse than all other scores.
local function best_of(reports)
  local best = -math.huge
  for _, report in ipairs(reports) do
    if report.score > best then best = report.score end
  end
  return best
end

local function add(self, number, report)
  if self._reports[number] == nil then
    self._reports[number] = {}
    self._numbers[#self._numbers + 1] = number
  end
  table.insert(self._reports[number], report)
end

local function others_until(self, number, time)
  local means = {}
  for _, other in ipairs(self._numbers) do
    local mean = other ~= number and mean_until(self, other, time)
    if mean and is_finite(mean) then means[#means + 1] = mean end
  end
  return means
end

---@param number integer
---@param result table
---@return rtrain.tune.Decision
function MedianStoppingRule:on_trial_result(number, result)
  if not self:_has_result(result) then return FIFOScheduler.CONTINUE end
  local time = result[self.time_attr]
  add(self, number, {time = time, score = self:score(result)})
  if time < self.grace_period then return FIFOScheduler.CONTINUE end
  local means = others_until(self, number, time)
  if #means < self.min_samples_required then return FIFOScheduler.CONTINUE end
  local limit, best = median(means), best_of(self._reports[number])
  if best >= limit then return FIFOScheduler.CONTINUE end
  return self:_stop(('its best %s %.6g is worse than %.6g, the median of %d others at %s %g'):format(self.metric,
    self:_metric_of(best), self:_metric_of(limit), #means, self.time_attr, time))
end

return MedianStoppingRule
