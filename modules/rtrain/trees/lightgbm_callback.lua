-- rtrain/trees/lightgbm_callback.lua: train.lightgbm.RayTrainReportCallback.

local lightgbm = require 'lightgbm'
local ordered = require 'base.ordered'
local report_callback = require 'rtrain.trees.report_callback'

local FILENAME = 'model.txt'

---Reports the metrics of each round of lightgbm.train, named 'data-metric', and saves the model in checkpoints of the
---run. All ranks must pass it to lightgbm.train. When the run is to stop, it saves and ends the training. Ray
---equivalent: ray.train.lightgbm.RayTrainReportCallback.
---
---Arguments: {metrics, filename = 'model.txt', frequency = 0, checkpoint_at_end = true, results_postprocessing_fn,
---checkpoint_upload_mode}, as of train.xgboost.RayTrainReportCallback.
---
---```lua
---local lightgbm, torch, train = require 'lightgbm', require 'torch', require 'rtrain'
---local result = train.LightGBMTrainer({
---  train_loop_per_worker = function()
---    local x = torch.arange(200):view(200, 1)
---    local data = lightgbm.Dataset(x, x:view(-1))
---    lightgbm.train({verbosity = -1}, data, {
---      num_boost_round = 6, valid_sets = {data}, callbacks = {train.lightgbm.RayTrainReportCallback {frequency = 2}}})
---  end,
---}):fit()
---assert(#result.metrics_dataframe == 6 and result.metrics['training-l2'] > 0)
---assert(train.lightgbm.RayTrainReportCallback.get_model(result.checkpoint):current_iteration() == 6)
---```
---@class lightgbm.RayTrainReportCallback: lightgbm.Callback
---@overload fun(options?: table): lightgbm.RayTrainReportCallback
local RayTrainReportCallback = lightgbm.Callback:extend('RayTrainReportCallback')

---@param options? {metrics: string|table, filename: string, frequency: integer, checkpoint_at_end: boolean,
---  results_postprocessing_fn: (fun(metrics: table): table), checkpoint_upload_mode: string}
function RayTrainReportCallback:init(options)
  self._options = report_callback.options('RayTrainReportCallback', FILENAME, options)
end

---Returns the model of a checkpoint that this callback has made.
---@param checkpoint Checkpoint
---@param filename? string default 'model.txt'
---@return lightgbm.Booster
function RayTrainReportCallback.get_model(checkpoint, filename)
  return report_callback.model_of('RayTrainReportCallback', checkpoint, filename or FILENAME, function(path)
    return lightgbm.Booster {model_file = path}
  end)
end

-- Reports the last round. The report waits until the next round begins, so that the last report carries the finished
-- model.
local function flush(self, model, is_last)
  local round = self._pending
  self._pending = nil
  if round == nil then return false end
  -- All rounds, to continue from; at the end only those up to the best round.
  round.save = function(path) model:save_model(path, {num_iteration = not is_last and -1 or nil}) end
  return report_callback.report('RayTrainReportCallback', self._options, round, is_last)
end

---@param env lightgbm.CallbackEnv
---@return boolean is_over whether the run is to stop
function RayTrainReportCallback:before_iteration(env) return flush(self, env.model) end

---@param env lightgbm.CallbackEnv
function RayTrainReportCallback:after_iteration(env)
  local metrics = ordered.new()
  for _, item in ipairs(env.evaluation_result_list) do metrics[item[1] .. '-' .. item[2]] = item[3] end
  self._pending = {index = env.iteration, metrics = metrics}
end

---@param model lightgbm.Booster
function RayTrainReportCallback:after_training(model) flush(self, model, true) end

return RayTrainReportCallback
