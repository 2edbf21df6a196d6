-- rtrain/tune/schedulers/async_hyperband.lua: AsyncHyperBandScheduler: asynchronous successive halving (ASHA).

local class = require 'base.class'
local FIFOScheduler = require 'rtrain.tune.schedulers.scheduler'
local Random = require 'rtrain.tune.random'
local Rungs = require 'rtrain.tune.schedulers.rungs'
local schema = require 'rtrain.config.schema'

local function above_one(value)
  if type(value) ~= 'number' or value ~= value or value <= 1 then return 'expected a number above 1' end
end

local Options = schema.define('AsyncHyperBandScheduler', {
  {'time_attr', default = 'training_iteration', check = schema.string},
  {'metric', check = schema.string},
  {'mode', check = schema.one_of('min', 'max')},
  {'max_t', default = 100, check = schema.positive},
  {'grace_period', default = 1, check = schema.positive},
  {'reduction_factor', default = 4, check = above_one},
  {'brackets', default = 1, check = schema.integer(1)},
  {'stop_last_trials', default = true, check = schema.boolean},
})

function Options:_validate()
  if self.max_t >= self.grace_period then return end
  require 'base.errors'.raise('config', ('AsyncHyperBandScheduler: max_t = %g is below grace_period = %g'):format(self.max_t,
    self.grace_period))
end

---@class rtrain.tune.AsyncHyperBandOptions
---@field time_attr? string the measure of time: 'training_iteration' (default), 'time_total_s', or a metric
---@field metric? string default: the TuneConfig's
---@field mode? 'min'|'max' default: the TuneConfig's
---@field max_t? number the time at which a trial ends; default 100
---@field grace_period? number no trial is stopped earlier; default 1
---@field reduction_factor? number at each milestone the best 1/factor of the trials continue, and a milestone is that
---  many times the one before; default 4
---@field brackets? integer number of brackets; the n-th bracket leaves out the first n - 1 milestones; default 1
---@field stop_last_trials? boolean whether trials end at max_t; default true

---Stops a trial at a milestone (grace_period, and then each reduction_factor times the one before) if it is not among
---the best of the trials that have reached it. `train.tune.schedulers.ASHAScheduler` is another name for it. Ray
---equivalent: ray.tune.schedulers.AsyncHyperBandScheduler.
---
---```lua
---local train = require 'rtrain'
---local tuner = train.Tuner {
---  trainer = train.TorchTrainer {
---    train_loop_per_worker = function(config)
---      for step = 1, 9 do train.report {loss = config.lr / step} end
---    end,
---  },
---  param_space = {lr = train.tune.grid_search {1, 2}},
---  tune_config = train.tune.TuneConfig {
---    metric = 'loss', mode = 'min', max_concurrent_trials = 1,
---    scheduler = train.tune.schedulers.ASHAScheduler {max_t = 9, grace_period = 3, reduction_factor = 3},
---  },
---}
---local grid = tuner:fit()
---assert(#grid[1].metrics_dataframe == 9 and #grid[2].metrics_dataframe == 3)
---```
---@class rtrain.tune.AsyncHyperBandScheduler: rtrain.tune.FIFOScheduler
---@overload fun(options?: rtrain.tune.AsyncHyperBandOptions): rtrain.tune.AsyncHyperBandScheduler
local AsyncHyperBandScheduler = class('AsyncHyperBandScheduler', FIFOScheduler)

AsyncHyperBandScheduler.decides = true

---@param options? rtrain.tune.AsyncHyperBandOptions
---Raises code 'config' for an unknown field or a wrong value.
function AsyncHyperBandScheduler:init(options)
  self:_take(Options(options))
  self._brackets, self._bracket_of = {}, {}
  for s = 1, self.brackets do
    self._brackets[s] = Rungs {
      grace_period = self.grace_period, max_t = self.max_t, reduction_factor = self.reduction_factor, skipped = s - 1,
      compares_once = not self.stop_last_trials,
    }
  end
end

---Called when a trial begins: assigns it to a bracket, preferably one with more milestones.
---@param number integer
function AsyncHyperBandScheduler:on_trial_add(number)
  local weights = {}
  for s, rungs in ipairs(self._brackets) do weights[s] = math.exp(rungs:count() - self._brackets[1]:count()) end
  self._bracket_of[number] = #weights == 1 and 1 or Random(self.seed or 0, number):weighted(weights)
end

---Returns the bracket of a trial, from 1.
---@param number integer
---@return integer
function AsyncHyperBandScheduler:bracket_of(number) return self._bracket_of[number] end

---Returns the times at which trials are compared, in the bracket that has all of them.
---@return number[] ascending
function AsyncHyperBandScheduler:milestones() return self._brackets[1]:milestones() end

---@param number integer
---@param result table
---@return rtrain.tune.Decision
function AsyncHyperBandScheduler:on_trial_result(number, result)
  if not self:_has_result(result) then return FIFOScheduler.CONTINUE end
  local time = result[self.time_attr]
  if time >= self.max_t and self.stop_last_trials then
    return self:_stop(('%s has come to %g (max_t)'):format(self.time_attr, time))
  end
  local milestone = self._brackets[self._bracket_of[number]]:add(number, time, self:score(result))
  if milestone == nil then return FIFOScheduler.CONTINUE end
  return self:_stop(('%s=%.6g at %s %g is not among the best 1/%g'):format(self.metric, result[self.metric], self.time_attr,
    time, self.reduction_factor))
end

---Called when a trial has ended by itself: its last result counts if it was not compared yet.
---@param number integer
---@param result? table
function AsyncHyperBandScheduler:on_trial_complete(number, result)
  if self:_has_result(result) then
    self._brackets[self._bracket_of[number]]:add(number, result[self.time_attr], self:score(result))
  end
end

return AsyncHyperBandScheduler
