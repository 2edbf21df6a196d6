-- rtrain/tune/schedulers/population_based_training.lua: PopulationBasedTraining: bad trials continue from the
-- checkpoints of good trials, with a similar configuration.

local class = require 'base.class'
local explore = require 'rtrain.tune.schedulers.explore'
local FIFOScheduler = require 'rtrain.tune.schedulers.scheduler'
local index_of = require 'base.index_of'
local Random = require 'rtrain.tune.random'
local schema = require 'rtrain.config.schema'
local space = require 'rtrain.tune.space'

local function number_between(low, high)
  return function(value)
    if type(value) ~= 'number' or value ~= value or value < low or value > high then
      return ('expected a number from %g to %g'):format(low, high)
    end
  end
end

local function check_function(value)
  if type(value) ~= 'function' then return 'expected a function(config) → config' end
end

local function check_factors(value)
  if type(value) ~= 'table' or #value == 0 then return 'expected a list of numbers' end
  for _, factor in ipairs(value) do
    if type(factor) ~= 'number' then return 'expected a list of numbers' end
  end
end

local Options = schema.define('PopulationBasedTraining', {
  {'time_attr', default = 'time_total_s', check = schema.string},
  {'metric', check = schema.string},
  {'mode', check = schema.one_of('min', 'max')},
  {'perturbation_interval', default = 60, check = schema.positive},
  {'burn_in_period', default = 0, check = number_between(0, math.huge)},
  {'hyperparam_mutations', check = explore.problem},
  {'quantile_fraction', default = 0.25, check = number_between(0, 0.5)},
  {'resample_probability', default = 0.25, check = number_between(0, 1)},
  {'perturbation_factors', default = {1.2, 0.8}, check = check_factors},
  {'custom_explore_fn', check = check_function},
  {'log_config', default = true, absent = "the sweep's journal has each change"},
  {'require_attrs', default = true, absent = 'a report without the metric is passed over'},
  {'synch', default = false, absent = 'trials do not wait for each other'},
})

function Options:_validate()
  if self.hyperparam_mutations or self.custom_explore_fn then return end
  require 'base.errors'.raise('config', 'PopulationBasedTraining: give hyperparam_mutations, or a custom_explore_fn')
end

---@class rtrain.tune.PopulationBasedTrainingOptions
---@field time_attr? string the measure of time: 'time_total_s' (default), 'training_iteration', or a metric
---@field metric? string default: the TuneConfig's
---@field mode? 'min'|'max' default: the TuneConfig's
---@field perturbation_interval? number how often a trial is compared with the others; default 60
---@field burn_in_period? number no comparison before this time; default 0
---@field hyperparam_mutations? table map name in train_loop_config → list, space of train.tune, function, or a nested
---  map
---@field quantile_fraction? number share of the trials that count as the worst, and as the best from which they take
---  over; default 0.25
---@field resample_probability? number probability that a value is drawn again; else it is multiplied, or moved in its
---  list; default 0.25
---@field perturbation_factors? number[] default {1.2, 0.8}
---@field custom_explore_fn? fun(config: table): table makes the final changes of a new train_loop_config

---Compares trials while they train: a trial among the worst ends, and continues from the last checkpoint of one among
---the best, with a similar configuration. The train function must report checkpoints, and begin with
---train.get_checkpoint(). If more trials exist than can run at a time, they take turns. Ray equivalent:
---ray.tune.schedulers.PopulationBasedTraining.
---
---```lua
---local train = require 'rtrain'
---local scheduler = train.tune.schedulers.PopulationBasedTraining {
---  time_attr = 'training_iteration', perturbation_interval = 4, metric = 'loss', mode = 'min',
---  hyperparam_mutations = {lr = train.tune.loguniform(1e-4, 1e-1), batch_size = {16, 32, 64}},
---}
---assert(scheduler.quantile_fraction == 0.25)
---```
---@class rtrain.tune.PopulationBasedTraining: rtrain.tune.FIFOScheduler
---@overload fun(options?: rtrain.tune.PopulationBasedTrainingOptions): rtrain.tune.PopulationBasedTraining
local PopulationBasedTraining = class('PopulationBasedTraining', FIFOScheduler)

PopulationBasedTraining.decides = true

---@param options? rtrain.tune.PopulationBasedTrainingOptions
---Raises code 'config' for an unknown field or a wrong value.
function PopulationBasedTraining:init(options)
  self:_take(Options(options))
  self._trials = {}  -- number → {config =, time =, score =, can_give =, has_ended =, count =}
  self._numbers = {}
end

function PopulationBasedTraining:_random(number, count) return Random(self.seed or 0, 7, number, count) end

---Adds values for names that the param_space does not have.
---@param number integer
---@param config table config of the trial, changed in place
function PopulationBasedTraining:fill_config(number, config)
  config.train_loop_config = config.train_loop_config or {}
  explore.fill(config.train_loop_config, self.hyperparam_mutations or {}, self:_random(number, 0))
end

---Called when a trial begins.
---@param number integer
---@param config table
function PopulationBasedTraining:on_trial_add(number, config)
  self._trials[number] = {config = config, time = 0, count = 0}
  self._numbers[#self._numbers + 1] = number
end

-- Returns the numbers of the worst and of the best training trials: a fraction of them each, at most a half.
function PopulationBasedTraining:_quantiles()
  local numbers = {}
  for _, number in ipairs(self._numbers) do
    local trial = self._trials[number]
    if trial.score and not trial.has_ended then numbers[#numbers + 1] = number end
  end
  if #numbers <= 1 then return {}, {} end
  table.sort(numbers, function(a, b)
    local first, second = self._trials[a].score, self._trials[b].score
    if first ~= second then return first < second end
    return a < b
  end)
  local count = math.min(math.ceil(#numbers * self.quantile_fraction), math.floor(#numbers / 2))
  local worst, best = {}, {}
  for i = 1, count do worst[i], best[i] = numbers[i], numbers[#numbers - count + i] end
  return worst, best
end

function PopulationBasedTraining:_new_config(donor, random)
  local config = space.joined({}, self._trials[donor].config)
  explore.mutate(config.train_loop_config, self.hyperparam_mutations or {}, random, self)
  if self.custom_explore_fn then config.train_loop_config = self.custom_explore_fn(config.train_loop_config) end
  return config
end

function PopulationBasedTraining:_exploit(number, best)
  local trial = self._trials[number]
  trial.count = trial.count + 1
  local random = self:_random(number, trial.count)
  local donor = random:choice(best)
  if not self._trials[donor].can_give then return nil end
  return {
    action = 'PAUSE', exploit = {donor = donor, config = self:_new_config(donor, random)},
    reason = ('PopulationBasedTraining: goes on from the checkpoint of trial %d'):format(donor),
  }
end

-- NaN is worse than all other scores.
local function comparable(score) return score == score and score or -math.huge end

---@param number integer
---@param result table
---@param state {has_checkpoint: boolean} whether the trial has reported a checkpoint
---@return rtrain.tune.Decision
function PopulationBasedTraining:on_trial_result(number, result, state)
  if not self:_has_result(result) then return FIFOScheduler.CONTINUE end
  local trial, time = self._trials[number], result[self.time_attr]
  if time < self.burn_in_period or time - trial.time < self.perturbation_interval then return FIFOScheduler.CONTINUE end
  trial.time, trial.score = time, comparable(self:score(result))
  local worst, best = self:_quantiles()
  trial.can_give = index_of(best, number) ~= nil and state.has_checkpoint or false
  local exploit = index_of(worst, number) and self:_exploit(number, best)
  return exploit or {action = 'CONTINUE', can_pause = state.has_checkpoint}
end

---Called when a trial continues from another trial's checkpoint.
---@param number integer
---@param config table
function PopulationBasedTraining:on_trial_exploit(number, config) self._trials[number].config = config end

---Called when a trial has ended.
---@param number integer
function PopulationBasedTraining:on_trial_complete(number) self._trials[number].has_ended = true end

---Called when a trial has failed.
---@param number integer
function PopulationBasedTraining:on_trial_error(number) self._trials[number].has_ended = true end

return PopulationBasedTraining
