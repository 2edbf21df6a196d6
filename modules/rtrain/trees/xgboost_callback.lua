-- rtrain/trees/xgboost_callback.lua: train.xgboost.RayTrainReportCallback.

local ordered = require 'base.ordered'
local report_callback = require 'rtrain.trees.report_callback'
local xgboost = require 'xgboost'

local FILENAME = 'model.ubj'

---Reports the metrics of each round of xgboost.train, named 'data-metric', and saves the model in checkpoints of the
---run. All ranks must pass it to xgboost.train. When the run is to stop, it saves and ends the training. Ray
---equivalent: ray.train.xgboost.RayTrainReportCallback.
---
---Arguments: {metrics, filename = 'model.ubj', frequency = 0, checkpoint_at_end = true, results_postprocessing_fn,
---checkpoint_upload_mode}. metrics: a name, a list of names, or a table {reported name = 'data-metric'}; default all.
---frequency: save after each that many rounds; 0: only at the end. results_postprocessing_fn: takes the metrics and
---returns those to report.
---
---```lua
---local torch, train, xgboost = require 'torch', require 'rtrain', require 'xgboost'
---local result = train.XGBoostTrainer({
---  train_loop_per_worker = function()
---    local x = torch.arange(16):view(16, 1)
---    local dtrain = xgboost.DMatrix(x, {label = x:view(-1)})
---    local checkpoint = train.get_checkpoint()
---    local model = checkpoint and train.xgboost.RayTrainReportCallback.get_model(checkpoint)
---    xgboost.train({}, dtrain, {
---      num_boost_round = 6 - (model and model:num_boosted_rounds() or 0), xgb_model = model,
---      evals = {{dtrain, 'train'}}, verbose_eval = false,
---      callbacks = {train.xgboost.RayTrainReportCallback {frequency = 2}},
---    })
---  end,
---}):fit()
---assert(#result.metrics_dataframe == 6 and result.metrics['train-rmse'] > 0)
---assert(train.xgboost.RayTrainReportCallback.get_model(result.checkpoint):num_boosted_rounds() == 6)
---```
---@class xgboost.RayTrainReportCallback: xgboost.callback.TrainingCallback
---@overload fun(options?: table): xgboost.RayTrainReportCallback
local RayTrainReportCallback = xgboost.callback.TrainingCallback:extend('RayTrainReportCallback')

---@param options? {metrics: string|table, filename: string, frequency: integer, checkpoint_at_end: boolean,
---  results_postprocessing_fn: (fun(metrics: table): table), checkpoint_upload_mode: string}
function RayTrainReportCallback:init(options)
  self._options = report_callback.options('RayTrainReportCallback', FILENAME, options)
end

---Returns the model of a checkpoint that this callback has made.
---@param checkpoint Checkpoint
---@param filename? string default 'model.ubj'
---@return xgboost.Booster
function RayTrainReportCallback.get_model(checkpoint, filename)
  return report_callback.model_of('RayTrainReportCallback', checkpoint, filename or FILENAME, function(path)
    local model = xgboost.Booster()
    model:load_model(path)
    return model
  end)
end

-- Returns 'train-rmse' → the last value.
local function metrics_of(evals_log)
  local out = ordered.new()
  for name, data in ordered.items(evals_log) do
    for metric, values in ordered.items(data) do out[name .. '-' .. metric] = values[#values] end
  end
  return out
end

---@param model xgboost.Booster
function RayTrainReportCallback:before_training(model)
  self._pending = nil
  return model
end

-- Reports the last round. The report waits until the next round begins, so that the last report carries the finished
-- model.
local function flush(self, model, is_last)
  local round = self._pending
  self._pending = nil
  if round == nil then return false end
  round.save = function(path) model:save_model(path) end
  return report_callback.report('RayTrainReportCallback', self._options, round, is_last)
end

---@param model xgboost.Booster
function RayTrainReportCallback:before_iteration(model) return flush(self, model) end

---@param _ xgboost.Booster
---@param epoch integer
---@param evals_log table
function RayTrainReportCallback:after_iteration(_, epoch, evals_log)
  self._pending = {index = epoch, metrics = metrics_of(evals_log)}
end

---@param model xgboost.Booster
---@return xgboost.Booster model
function RayTrainReportCallback:after_training(model)
  flush(self, model, true)
  return model
end

return RayTrainReportCallback
