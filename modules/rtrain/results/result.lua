-- rtrain/results/result.lua: Result: the return value of fit().

local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local DataFrame = require 'rtrain.results.data_frame'
local errors = require 'base.errors'
local failure = require 'rtrain.results.failure'
local metrics_text = require 'rtrain.metrics.text'
local number = require 'base.number'
local ordered = require 'base.ordered'
local system = require 'base._system'

local AUTOMATIC = {'training_iteration', 'time_total_s', 'timestamp', 'pid', 'hostname', 'node_ip'}

---The return value of `fit()`. Ray equivalent: ray.train.Result.
---
---```lua
---local train = require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    for _, loss in ipairs {0.5, 0.2, 0.3} do
---      train.tempdir(function(dir) train.report({loss = loss}, {checkpoint = train.Checkpoint.from_directory(dir)}) end)
---    end
---    return 'done'
---  end,
---}):fit()
---assert(result.metrics.loss == 0.3 and result.return_value == 'done')
---assert(result:get_best_checkpoint('loss', 'min').path ~= result.checkpoint.path)
---assert(result.metrics_dataframe:to_csv() == 'loss\n0.5\n0.20000000000000001\n0.29999999999999999\n')
---assert(train.Result.from_path(result.path).metrics.loss == 0.3)
---```
---@class Result
---@field metrics? table rank 0's metrics of the last report, and Ray's automatic fields, unless the script uses their
---  names: training_iteration (from 1), time_total_s (of all attempts), timestamp (in seconds since 1970), pid,
---  hostname, node_ip
---@field checkpoint? Checkpoint the latest checkpoint
---@field error? table nil when the run finished
---@field path string the run's folder
---@field best_checkpoints {checkpoint: Checkpoint, metrics: table}[] the kept checkpoints, the best last
---@field metrics_dataframe table array of the metrics of every report, with `:to_csv()`; read from the store at its first use
---@field return_value any the result of rank 0's train function
---@field config? table train_loop_config; from `from_path` it has '***' in place of keys and passwords
local Result = class('Result')

---@param fields table
function Result:init(fields)
  for name, value in next, fields do self[name] = value end
end

-- Returns 'Result(metrics={epoch=1 loss=0.5}, checkpoint=Checkpoint(…), path=…)', with the error if there is one.
function Result:__tostring()
  local parts = {('metrics={%s}'):format(metrics_text.line(self._reported)), 'checkpoint=' .. tostring(self.checkpoint)}
  if self.error then parts[3] = 'error=' .. tostring(self.error) end
  parts[#parts + 1] = 'path=' .. tostring(self.path)
  return ('Result(%s)'):format(table.concat(parts, ', '))
end

-- Converts the controller's list, best first, to Ray's order, best last.
local function as_checkpoints(list)
  local out = {}
  for _, item in ipairs(list or {}) do
    local entry = {checkpoint = Checkpoint(item.path), metrics = item.metrics}
    entry[1], entry[2] = entry.checkpoint, entry.metrics
    table.insert(out, 1, entry)
  end
  return out
end

---Returns the Result of a run that has ended.
---@param finished table the controller's last event
---@param config? table train_loop_config
---@return Result
function Result.from_event(finished, config)
  return Result {
    _reported = finished.metrics,
    checkpoint = finished.checkpoint and Checkpoint(finished.checkpoint.path) or nil,
    error = finished.error and failure.make(finished.error, {path = finished.path, attempt = finished.attempts or 1}) or nil,
    path = finished.path,
    best_checkpoints = as_checkpoints(finished.best_checkpoints),
    return_value = finished.return_value,
    config = config,
  }
end

local function latest_of(checkpoints)
  for _, row in ipairs(checkpoints) do
    if row.latest then return Checkpoint(row.path) end
  end
  return nil
end

-- Returns the storage path and the name of the run in that folder. `who` begins the messages.
local function place_of(path, who)
  if type(path) ~= 'string' then
    errors.raise('argument', ("%s: expected a run's folder, got %s"):format(who, type(path)))
  end
  local folder = system.absolute(path)
  if system.path_kind(folder) ~= 'folder' then
    errors.raise('not_found', ('%s: there is no folder %s'):format(who, folder))
  end
  local storage, name = folder:match '^(.*)/([^/]+)$'
  if system.path_kind(storage .. '/rtrain.db') ~= 'file' then
    errors.raise('usage', ("%s: %s is not a run's folder: there is no registry of runs %s/rtrain.db")
      :format(who, folder, storage))
  end
  return storage, name
end

-- Reads the metrics on demand: a run of weeks has more reports than the controller keeps.
local function read_metrics(path)
  local storage, name = place_of(path, 'Result.metrics_dataframe')
  return DataFrame.of(require 'rtrain.metrics.reported'(storage, name))
end

-- Adds the automatic fields after the metrics; the script's own metrics take precedence.
local function with_automatic_fields(metrics, last_report)
  if metrics == nil or last_report == nil then return metrics end
  local out = ordered.new()
  for _, name in ipairs(metrics_text.names(metrics)) do out[name] = metrics[name] end
  for _, name in ipairs(AUTOMATIC) do
    if out[name] == nil then out[name] = last_report[name] end
  end
  return out
end

-- Returns nil if the store cannot be read: that may be why the run failed.
local function read_last_report(path)
  local ok, found = pcall(function()
    local storage, name = path:match '^(.*)/([^/]+)$'
    return require('rtrain._host').run(storage, name).last_report
  end)
  return ok and found or nil
end

function Result:__index(key)
  if key == 'metrics_dataframe' then
    self.metrics_dataframe = read_metrics(self.path)
  elseif key == 'metrics' and rawget(self, '_reported') ~= nil then
    self.metrics = with_automatic_fields(self._reported, read_last_report(self.path))
  end
  return rawget(self, key) or Result[key]
end

---Returns the Result of a stored run, with its error and the metrics of every report.
---@param path string the run's folder, result.path
---@return Result
---Raises code 'not_found' if there is no such folder, 'usage' if it does not belong to a run, 'environment' if the
---store is damaged or belongs to another program.
function Result.from_path(path)
  local host = require 'rtrain._host'
  local storage, name = place_of(path, 'Result.from_path')
  local run = host.run(storage, name)
  local metrics = next(run.metrics) ~= nil and run.metrics or nil
  return Result {
    metrics = with_automatic_fields(metrics, run.last_report),
    _reported = metrics,
    checkpoint = latest_of(host.checkpoints(storage, name, false)),
    error = run.error and failure.make(run.error, {path = run.path, attempt = #run.attempts}) or nil,
    path = run.path,
    best_checkpoints = as_checkpoints(run.best_checkpoints),
    return_value = run.return_value,
    config = run.config,
  }
end

local function check_metric(checkpoints, metric)
  local known, names = {}, {}
  for _, item in ipairs(checkpoints) do
    for name in next, item.metrics or {} do
      if name == metric then return end
      if not known[name] then names[#names + 1] = tostring(name) end
      known[name] = true
    end
  end
  table.sort(names)
  errors.raise('argument', ("get_best_checkpoint: no kept checkpoint has a metric '%s': %s"):format(tostring(metric),
    #names > 0 and 'they have ' .. table.concat(names, ', ') or 'they have none'))
end

---Returns the kept checkpoint with the best value of a metric.
---@param metric string key of the metrics
---@param mode string 'max' or 'min'
---@return Checkpoint? checkpoint nil if the run has kept none whose metric is a number
---Raises code 'argument' for a metric that no kept checkpoint has, with the names of the existing metrics.
function Result:get_best_checkpoint(metric, mode)
  if mode ~= 'max' and mode ~= 'min' then
    errors.raise('argument', "get_best_checkpoint: the mode is 'max' or 'min'")
  end
  if #self.best_checkpoints > 0 then check_metric(self.best_checkpoints, metric) end
  local best, best_value
  for _, item in ipairs(self.best_checkpoints) do
    local value = item.metrics and number.of(item.metrics[metric])
    local is_better = value ~= nil and value == value
      and (best == nil or (mode == 'max' and value > best_value) or (mode == 'min' and value < best_value))
    if is_better then best, best_value = item.checkpoint, value end
  end
  return best
end

return Result
