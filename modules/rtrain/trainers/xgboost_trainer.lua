-- rtrain/trainers/xgboost_trainer.lua: XGBoostTrainer: train functions whose ranks are a group of XGBoost.

local DataParallelTrainer = require('rtrain.trainers.trainer').DataParallelTrainer
local schema = require 'rtrain.config.schema'
local XGBoostConfig = require 'rtrain.config.xgboost'

---@class XGBoostTrainerOptions: TrainerOptions
---@field xgboost_config? XGBoostConfig

-- Returns the function that rtrain.worker calls. It is sent with the train function.
local function in_group(train_func, config)
  return function(loop_config) return require('rtrain.trees.xgboost_group').run(train_func, loop_config, config) end
end

---Trains gradient-boosted trees on several workers: its train function calls the module `xgboost`, whose ranks sum
---their histograms, so that all get the model that a single worker would get from all rows. Checkpoints, restarts,
---stops and results are those of a TorchTrainer. Arguments: as of TorchTrainer, with xgboost_config, a
---train.xgboost.XGBoostConfig, in place of torch_config. Ray equivalent: ray.train.xgboost.XGBoostTrainer.
---
---```lua
---local data, train, xgboost = require 'rtrain.data', require 'rtrain', require 'xgboost'
---local result = train.XGBoostTrainer({
---  train_loop_per_worker = function(config)
---    local dtrain = xgboost.QuantileDMatrix(train.get_dataset_shard('train'), {label = 'y'})
---    xgboost.train(config, dtrain, {
---      num_boost_round = 5, evals = {{dtrain, 'train'}}, verbose_eval = false,
---      callbacks = {train.xgboost.RayTrainReportCallback()},
---    })
---  end,
---  train_loop_config = {objective = 'reg:squarederror', max_depth = 3},
---  datasets = {train = data.range(200):map(function(row) return {x = row.id, y = row.id * 2} end)},
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---local model = train.xgboost.RayTrainReportCallback.get_model(result.checkpoint)
---assert(model:num_boosted_rounds() == 5 and result.metrics['train-rmse'] < 100)
---```
---@class XGBoostTrainer: DataParallelTrainer
---@overload fun(f: XGBoostTrainerOptions|(fun(config?: table): any), options?: table): XGBoostTrainer
local XGBoostTrainer = DataParallelTrainer:extend('XGBoostTrainer')
XGBoostTrainer._kind = 'torch'
XGBoostTrainer._fields = DataParallelTrainer:_fields_and('xgboost_config')

---@param f XGBoostTrainerOptions|(fun(config?: table): any) the function, or one table with everything
---@param options? XGBoostTrainerOptions
---Raises code 'config' for an unknown field or a wrong value.
function XGBoostTrainer:init(f, options)
  local given = type(f) == 'table' and f or options or {}
  DataParallelTrainer.init(self, f, options)
  self.xgboost_config = schema.coerce(given.xgboost_config, XGBoostConfig, 'xgboost_config')
  self.train_loop_per_worker = in_group(self.train_loop_per_worker, self.xgboost_config)
end

return XGBoostTrainer
