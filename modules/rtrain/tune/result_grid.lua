-- rtrain/tune/result_grid.lua: ResultGrid: the return value of Tuner:fit(): a Result for each trial.

local at_path = require 'rtrain.metrics.at_path'
local class = require 'base.class'
local DataFrame = require 'rtrain.results.data_frame'
local errors = require 'base.errors'
local number = require 'base.number'
local Objective = require 'rtrain.tune.objective'
local ordered = require 'base.ordered'

local SCOPES = {'last', 'all', 'avg', 'last-5-avg', 'last-10-avg'}

---The Results of a Tuner's trials, in their order: `#grid`, `grid[1]`, `for i, result in grid:iter() do`. Ray equivalent:
---ray.tune.ResultGrid.
---
---```lua
---local train = require 'rtrain'
---local grid = train.Tuner({
---  trainer = train.TorchTrainer {train_loop_per_worker = function(config) train.report {loss = config.lr ^ 2} end},
---  param_space = {train_loop_config = {lr = train.tune.grid_search {0.5, 0.1}}},
---  tune_config = train.tune.TuneConfig {metric = 'loss', mode = 'min'},
---}):fit()
---assert(#grid == 2 and grid[1].metrics.loss == 0.25 and grid.num_errors == 0)
---assert(grid:get_best_result().config.lr == 0.1)
---assert(grid:get_dataframe()[2]['config/lr'] == 0.1)
---```
---@class ResultGrid
---@field errors table[] the errors of the trials that failed
---@field num_errors integer
---@field num_terminated integer trials that ended without an error
---@field experiment_path string folder of the sweep's own files
---@field [integer] Result from 1
local ResultGrid = class('ResultGrid', nil, {userdata = true})

---@param results Result[]
---@param options {path: string, objective: table}
function ResultGrid:init(results, options)
  self._results, self._objective = results, options.objective
  self.experiment_path = options.path
  self.errors = {}
  for _, result in ipairs(results) do
    if result.error then self.errors[#self.errors + 1] = result.error end
  end
  self.num_errors = #self.errors
  self.num_terminated = #results - #self.errors
end

function ResultGrid:__item(i)
  if i == 0 then errors.raise('argument', 'ResultGrid: index 0: its results are counted from 1') end
  return self._results[i]
end

function ResultGrid:__len() return #self._results end

function ResultGrid:__tostring()
  return ('ResultGrid(%d results, %d errors)'):format(#self._results, self.num_errors)
end

---@return fun(): integer?, Result? iterator over number (from 1) and Result
function ResultGrid:iter()
  local i = 0
  return function()
    i = i + 1
    if self._results[i] then return i, self._results[i] end
  end
end

local function is_finite(value) return value == value and math.abs(value) < math.huge end

-- Returns the values of the metric in all reports of a result.
local function series(result, metric)
  local out = {}
  for _, row in ipairs(result.metrics_dataframe) do
    local value = number.of(at_path(row, metric))
    if value then out[#out + 1] = value end
  end
  return out
end

local function average(values, count)
  local sum, first = 0, math.max(1, #values - count + 1)
  for i = first, #values do sum = sum + values[i] end
  return #values > 0 and sum / (#values - first + 1) or nil
end

local function best_of(values, objective)
  local best
  for _, value in ipairs(values) do
    if objective:is_better(value, best) then best = value end
  end
  return best
end

-- Returns the number by which a result is compared.
local function value_of(result, objective, scope)
  if scope == 'last' then return result.metrics and at_path(result.metrics, objective.metric) end
  local values = result.metrics and series(result, objective.metric) or {}
  if scope == 'all' then return best_of(values, objective) end
  return average(values, tonumber(scope:match '%d+') or math.huge)
end

function ResultGrid:_check(metric, mode, scope)
  local objective = Objective(metric or self._objective.metric, mode or self._objective.mode)
  if objective.metric == nil or objective.mode == nil then
    errors.raise('argument', ("get_best_result: give the %s, here or in the TuneConfig: get_best_result('loss', 'min')")
      :format(objective.metric and 'mode' or 'metric and the mode'))
  end
  require 'base.args'.one_of('get_best_result: mode', objective.mode, {'min', 'max'})
  require 'base.args'.one_of('get_best_result: scope', scope, SCOPES)
  return objective
end

local function names_reported(results)
  local seen, names = {}, {}
  for _, result in ipairs(results) do
    for name in next, result._reported or {} do
      if type(name) == 'string' and not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names)
  return names
end

---Returns the Result of the best trial.
---@param metric? string default: the TuneConfig's
---@param mode? 'min'|'max' default: the TuneConfig's
---@param scope? string the value of each trial that is compared: 'last' (default) its last report, 'all' its best
---  report, 'avg', 'last-5-avg' or 'last-10-avg' a mean of its reports
---@param filter_nan_and_inf? boolean default true: ignores values that are not finite
---@return Result
---Raises code 'not_found' if no trial has reported the metric.
function ResultGrid:get_best_result(metric, mode, scope, filter_nan_and_inf)
  scope = scope or 'last'
  local objective = self:_check(metric, mode, scope)
  local best, best_value
  for _, result in ipairs(self._results) do
    local value = number.of(value_of(result, objective, scope))
    local is_counted = value and (filter_nan_and_inf == false or is_finite(value))
    if is_counted and objective:is_better(value, best_value) then best, best_value = result, value end
  end
  if best then return best end
  local names = names_reported(self._results)
  errors.raise('not_found', ("get_best_result: no trial has reported a finite number '%s': %s"):format(objective.metric,
    #names > 0 and 'they have ' .. table.concat(names, ', ') or 'they have reported nothing'))
end

-- Adds nested values as 'config/model/width' → value.
local function add_flat(row, prefix, value)
  if type(value) ~= 'table' or #value > 0 then
    row[prefix] = value
    return
  end
  for _, key in ipairs(ordered.keys_of(value)) do add_flat(row, prefix .. '/' .. tostring(key), value[key]) end
end

-- Returns the relevant report: the last one, or with a filter the one where the metric is best.
local function report_of(result, objective)
  if objective == nil then return result._reported or {} end
  local best
  for _, row in ipairs(result.metrics and result.metrics_dataframe or {}) do
    local value = number.of(row[objective.metric])
    if value and objective:is_better(value, best and best[objective.metric]) then best = row end
  end
  return best or {}
end

---Returns one row for each trial: its metrics, `trial_id`, and its config as columns 'config/lr'.
---@param filter_metric? string take the report where this metric is best, instead of the last one
---@param filter_mode? 'min'|'max'
---@return DataFrame
function ResultGrid:get_dataframe(filter_metric, filter_mode)
  local objective
  if filter_metric then objective = self:_check(filter_metric, filter_mode, 'last') end
  local rows = {}
  for i, result in ipairs(self._results) do
    local row = {trial_id = result.path:match '[^/]*$'}
    for name, value in next, report_of(result, objective) do row[name] = value end
    add_flat(row, 'config', result.config or {})
    rows[i] = row
  end
  return DataFrame.of(rows)
end

return ResultGrid
