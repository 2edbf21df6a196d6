-- xgboost/callback.lua: the callbacks that xgboost.train calls in each round.

local args = require 'base.args'
local class = require 'base.class'
local collective = require 'xgboost.collective'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

---The base of callbacks for xgboost.train: a subclass defines some of these methods. Python equivalent:
---xgboost.callback.TrainingCallback.
---
---```lua
---local torch, xgboost = require 'torch', require 'xgboost'
---local Few = xgboost.callback.TrainingCallback:extend('Few')
---function Few:after_iteration(_, epoch) return epoch == 2 end
---local dtrain = xgboost.DMatrix(torch.arange(4):view(4, 1), {label = {0, 0, 1, 1}})
---local booster = xgboost.train({}, dtrain, {num_boost_round = 10, callbacks = {Few()}})
---assert(booster:num_boosted_rounds() == 3)
---```
---@class xgboost.callback.TrainingCallback
local TrainingCallback = class('TrainingCallback')

---@param model xgboost.Booster
---@return xgboost.Booster model
function TrainingCallback:before_training(model) return model end  -- luacheck: no self

---@param model xgboost.Booster
---@return xgboost.Booster model
function TrainingCallback:after_training(model) return model end  -- luacheck: no self

---@param model xgboost.Booster
---@param epoch integer
---@param evals_log table<string, table<string, number[]>> data → metric → values of the rounds
---@return boolean? is_over true ends the training
function TrainingCallback:before_iteration(model, epoch, evals_log) end  -- luacheck: no unused args

---@param model xgboost.Booster
---@param epoch integer
---@param evals_log table<string, table<string, number[]>>
---@return boolean? is_over
function TrainingCallback:after_iteration(model, epoch, evals_log) end  -- luacheck: no unused args

---Sets the learning rate before each round. Python equivalent: xgboost.callback.LearningRateScheduler.
---
---Arguments: learning_rates, a function of the round, or a list with a rate for each.
---@class xgboost.callback.LearningRateScheduler: xgboost.callback.TrainingCallback
---@overload fun(learning_rates: number[]|fun(epoch: integer): number): xgboost.callback.LearningRateScheduler
local LearningRateScheduler = TrainingCallback:extend('LearningRateScheduler')

---@param learning_rates number[]|fun(epoch: integer): number
function LearningRateScheduler:init(learning_rates)
  if type(learning_rates) ~= 'table' and type(learning_rates) ~= 'function' then
    errors.raise('argument', ('LearningRateScheduler: expected a list or a function, got a %s'):format(type(learning_rates)))
  end
  self._rates = learning_rates
end

---@param model xgboost.Booster
---@param epoch integer
function LearningRateScheduler:after_iteration(model, epoch)
  local rates = self._rates
  local rate = type(rates) == 'function' and rates(epoch) or type(rates) == 'table' and rates[epoch + 1]
  if not rate then
    errors.raise('argument', ('LearningRateScheduler: there is no learning rate for round %d'):format(epoch))
  end
  model:set_param('learning_rate', rate)
end

-- Metrics for which larger is better.
local MAXIMIZED = {'auc', 'aucpr', 'pre', 'map', 'ndcg'}

local function is_maximized(metric)
  if metric == 'mape' then return false end
  for _, name in ipairs(MAXIMIZED) do
    if metric:sub(1, #name) == name then return true end
  end
  return false
end

---Ends the training when a metric has not improved for some rounds, and records the best round:
---`booster.best_iteration`, `booster.best_score`. Python equivalent: xgboost.callback.EarlyStopping.
---
---Arguments: {rounds, metric_name, data_name, maximize, save_best = false, min_delta = 0}. Without names the last
---metric of the last data counts. maximize: default by the metric's name. save_best: the result is the model of the
---best round.
---@class xgboost.callback.EarlyStopping: xgboost.callback.TrainingCallback
---@overload fun(options: table): xgboost.callback.EarlyStopping
local EarlyStopping = TrainingCallback:extend('EarlyStopping')

---@param options {rounds: integer, metric_name: string, data_name: string, maximize: boolean, save_best: boolean,
---  min_delta: number}
function EarlyStopping:init(options)
  options = args.options(options, {'rounds', 'metric_name', 'data_name', 'maximize', 'save_best', 'min_delta'}, 'EarlyStopping')
  if type(options.rounds) ~= 'number' or options.rounds < 1 then
    errors.raise('argument', ('EarlyStopping: rounds = %s: expected an integer of at least 1'):format(tostring(options.rounds)))
  end
  if (options.min_delta or 0) < 0 then errors.raise('argument', 'EarlyStopping: min_delta must be at least 0') end
  self._options, self._min_delta, self._stale = options, options.min_delta or 0, 0
end

local function last_of(log) return log[#log] end

local function last_key(map)
  local keys = ordered.keys_of(map)
  return keys[#keys]
end

local function named(kind, log, name)
  local found = name or last_key(log)
  if log[found] then return found end
  local names = ordered.names_of(log)
  errors.raise('argument', ("EarlyStopping: there is no %s '%s'%s"):format(kind, found, errors.suggestion(found, names)))
end

-- A continued model knows the best of its rounds so far.
function EarlyStopping:before_training(model)
  self._best = tonumber(model:attr 'best_score')
  local best = tonumber(model:attr 'best_iteration')
  if best then self._stale = model:num_boosted_rounds() - 1 - best end
  return model
end

function EarlyStopping:after_iteration(model, epoch, evals_log)
  if last_key(evals_log) == nil then
    errors.raise('argument', "early stopping needs data to evaluate: evals = {{dvalid, 'valid'}}")
  end
  local data = evals_log[named('data', evals_log, self._options.data_name)]
  local metric = named('metric', data, self._options.metric_name)
  local maximize = self._options.maximize
  if maximize == nil then maximize = is_maximized(metric) end
  local score = last_of(data[metric])
  local best = self._best
  local is_better = best == nil or (maximize and score - self._min_delta > best)
    or (not maximize and score < best - self._min_delta)
  self._stale = is_better and 0 or self._stale + 1
  if is_better then
    self._best = score
    model:set_attr {best_score = ('%.17g'):format(score), best_iteration = ('%d'):format(epoch)}
  end
  return self._stale >= self._options.rounds
end

function EarlyStopping:after_training(model)
  if not self._options.save_best then return model end
  local best, score = model.best_iteration, model.best_score
  local out = model:slice(0, best + 1)
  out:set_attr {best_iteration = best, best_score = ('%.17g'):format(score)}
  return out
end

---Prints the metrics of each round, on rank 0: '[0]	train-rmse:0.50000'. Python equivalent:
---xgboost.callback.EvaluationMonitor.
---
---Arguments: {period = 1, rank = 0, logger}. period: prints every `period` rounds. logger: a function that is called
---with the line, instead of print.
---@class xgboost.callback.EvaluationMonitor: xgboost.callback.TrainingCallback
---@overload fun(options?: table): xgboost.callback.EvaluationMonitor
local EvaluationMonitor = TrainingCallback:extend('EvaluationMonitor')

---@param options? {period: integer, rank: integer, logger: fun(line: string)}
function EvaluationMonitor:init(options)
  options = args.options(options, {'period', 'rank', 'logger'}, 'EvaluationMonitor')
  self._period, self._rank, self._logger = options.period or 1, options.rank or 0, options.logger or print
end

function EvaluationMonitor:after_iteration(_, epoch, evals_log)
  if last_key(evals_log) == nil or collective.get_rank() ~= self._rank then return end
  local parts = {('[%d]'):format(epoch)}
  for name, data in ordered.items(evals_log) do
    for metric, values in ordered.items(data) do
      parts[#parts + 1] = ('%s-%s:%.5f'):format(name, metric, last_of(values))
    end
  end
  self._latest = table.concat(parts, '\t')
  if epoch % self._period == 0 then
    self._logger(self._latest)
    self._latest = nil
  end
end

function EvaluationMonitor:after_training(model)
  if self._latest then self._logger(self._latest) end
  return model
end

---Writes the model to files. train.xgboost.RayTrainReportCallback makes checkpoints of the run. Python equivalent:
---xgboost.callback.TrainingCheckPoint.
---
---Arguments: {directory, name = 'model', interval = 100}: files NAME_ROUND.ubj, on rank 0.
---@class xgboost.callback.TrainingCheckPoint: xgboost.callback.TrainingCallback
---@overload fun(options: table): xgboost.callback.TrainingCheckPoint
local TrainingCheckPoint = TrainingCallback:extend('TrainingCheckPoint')

---@param options {directory: string, name: string, interval: integer}
function TrainingCheckPoint:init(options)
  options = args.options(options, {'directory', 'name', 'interval'}, 'TrainingCheckPoint')
  if type(options.directory) ~= 'string' then
    errors.raise('argument', ('TrainingCheckPoint: directory is a %s, expected a string'):format(type(options.directory)))
  end
  self._directory, self._name, self._interval = options.directory, options.name or 'model', options.interval or 100
end

function TrainingCheckPoint:after_iteration(model, epoch)
  if collective.get_rank() == 0 and (epoch + 1) % self._interval == 0 then
    model:save_model(('%s/%s_%d.ubj'):format(self._directory, self._name, epoch))
  end
end

return require 'base.namespace'('xgboost.callback', nil, {
  TrainingCallback = TrainingCallback,
  LearningRateScheduler = LearningRateScheduler,
  EarlyStopping = EarlyStopping,
  EvaluationMonitor = EvaluationMonitor,
  TrainingCheckPoint = TrainingCheckPoint,
})
