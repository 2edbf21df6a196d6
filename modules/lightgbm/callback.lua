-- lightgbm/callback.lua: the callbacks that lightgbm.train calls in each round.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local network = require 'lightgbm.network'
local ordered = require 'base.ordered'

---@class lightgbm.CallbackEnv
---@field model lightgbm.Booster
---@field params table
---@field iteration integer 0-based
---@field begin_iteration integer
---@field end_iteration integer the iteration after the last
---@field evaluation_result_list table[] list of {data, metric, value, whether larger is better}

---The base of callbacks for lightgbm.train: a subclass defines some of these methods. A function is treated as a
---callback that defines only `after_iteration`.
---
---```lua
---local lightgbm, torch = require 'lightgbm', require 'torch'
---local x = torch.randn(100, 1)
---local function few(env) return env.iteration == 2 end
---local data = lightgbm.Dataset(x, x:select(1, 0))
---local booster = lightgbm.train({verbosity = -1}, data, {num_boost_round = 10, callbacks = {few}})
---assert(booster:current_iteration() == 3)
---```
---@class lightgbm.Callback
local Callback = class('Callback')

---@param env lightgbm.CallbackEnv
---@return boolean? is_over true ends the training
function Callback:before_iteration(env) end  -- luacheck: no unused args

---@param env lightgbm.CallbackEnv
---@return boolean? is_over true ends the training
function Callback:after_iteration(env) end  -- luacheck: no unused args

---@param model lightgbm.Booster
function Callback:after_training(model) end  -- luacheck: no unused args

local EarlyStopping = Callback:extend('EarlyStopping')

function EarlyStopping:init(rounds, options)
  if type(rounds) ~= 'number' or rounds < 1 or rounds % 1 ~= 0 then
    errors.raise('argument', ('early_stopping: stopping_rounds = %s: expected an integer of at least 1'):format(
      tostring(rounds)))
  end
  self._rounds, self._options, self._best = rounds, options, {}
end

-- Returns whether the metric has not improved for that many rounds. The training data are ignored.
function EarlyStopping:_is_over(env, item)
  local name, min_delta = item[1] .. ' ' .. item[2], self._options.min_delta or 0
  local best = self._best[name]
  local is_better = best == nil or (item[4] and item[3] > best.value + min_delta)
    or (not item[4] and item[3] < best.value - min_delta)
  if is_better then
    self._best[name] = {value = item[3], iteration = env.iteration, list = env.evaluation_result_list}
  end
  best = self._best[name]
  if env.iteration - best.iteration < self._rounds and env.iteration < env.end_iteration - 1 then return false end
  env.model.best_iteration, env.model._best_list = best.iteration + 1, best.list
  return env.iteration - best.iteration >= self._rounds
end

---@param env lightgbm.CallbackEnv
---@return boolean is_over
function EarlyStopping:after_iteration(env)
  local first
  for _, item in ipairs(env.evaluation_result_list) do
    first = first or item[2]
    if item[1] ~= 'training' and (not self._options.first_metric_only or item[2] == first) then
      self._seen = true
      if self:_is_over(env, item) then return true end
    end
  end
  if not self._seen then
    errors.raise('argument', 'early_stopping needs data to evaluate besides those trained on: valid_sets = {valid_set}')
  end
  return false
end

local callback = {Callback = Callback}

---Ends the training when a metric of the validation sets has not improved for some rounds; `booster.best_iteration` is
---then the number of rounds up to the best one. Python equivalent: lightgbm.early_stopping.
---@param stopping_rounds integer
---@param options? {first_metric_only: boolean, min_delta: number}
---@return lightgbm.Callback
function callback.early_stopping(stopping_rounds, options)
  return EarlyStopping(stopping_rounds, args.options(options, {'first_metric_only', 'min_delta'}, 'early_stopping'))
end

local LogEvaluation = Callback:extend('LogEvaluation')

function LogEvaluation:init(period) self._period = period end

---@param env lightgbm.CallbackEnv
function LogEvaluation:after_iteration(env)
  if self._period < 1 or (env.iteration + 1) % self._period ~= 0 or #env.evaluation_result_list == 0 then return end
  if network.rank() ~= 0 then return end
  local parts = {}
  for i, item in ipairs(env.evaluation_result_list) do parts[i] = ("%s's %s: %g"):format(item[1], item[2], item[3]) end
  print(('[%d]\t%s'):format(env.iteration + 1, table.concat(parts, '\t')))
end

---Prints the metrics. Python equivalent: lightgbm.log_evaluation.
---@param period? integer prints every `period` rounds (default 1)
---@return lightgbm.Callback
function callback.log_evaluation(period) return LogEvaluation(period or 1) end

local RecordEvaluation = Callback:extend('RecordEvaluation')

function RecordEvaluation:init(result) self._result = result end

---@param env lightgbm.CallbackEnv
function RecordEvaluation:after_iteration(env)
  local result = self._result
  for _, item in ipairs(env.evaluation_result_list) do
    result[item[1]] = result[item[1]] or ordered.new()
    result[item[1]][item[2]] = result[item[1]][item[2]] or {}
    table.insert(result[item[1]][item[2]], item[3])
  end
end

---Writes the metrics to a table, data → metric → values. Python equivalent: lightgbm.record_evaluation.
---@param eval_result table
---@return lightgbm.Callback
function callback.record_evaluation(eval_result) return RecordEvaluation(eval_result) end

local ResetParameter = Callback:extend('ResetParameter')

function ResetParameter:init(params) self._params = params end

---@param env lightgbm.CallbackEnv
function ResetParameter:before_iteration(env)
  local round, new = env.iteration - env.begin_iteration, {}
  for _, name in ipairs(ordered.keys_of(self._params)) do
    local value = self._params[name]
    if type(value) == 'function' then new[name] = value(round) else new[name] = value[round + 1] end
    if new[name] == nil then
      errors.raise('argument', ('reset_parameter: there is no %s for round %d'):format(name, round))
    end
  end
  env.model:reset_parameter(new)
end

---Sets parameters before each round. Python equivalent: lightgbm.reset_parameter.
---@param params table<string, any> name → function of the round, or list with a value for each
---@return lightgbm.Callback
function callback.reset_parameter(params) return ResetParameter(params) end

return callback
