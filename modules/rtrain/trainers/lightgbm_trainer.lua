-- rtrain/trainers/lightgbm_trainer.lua: LightGBMTrainer: train functions whose ranks are LightGBM's machines.

local trainers = require 'rtrain.trainers.trainer'
local TorchTrainer = trainers.TorchTrainer

-- Returns the function that rtrain.worker calls. It is sent with the train function.
local function in_group(train_func)
  return function(loop_config) return require('rtrain.trees.lightgbm_group').run(train_func, loop_config) end
end

---Trains gradient-boosted trees on several workers: its train function calls the module `lightgbm`, whose ranks sum
---their histograms, so that all get the model that a single worker would get from all rows. They use the collectives of
---a TorchTrainer, whose fields it has. Ray equivalent: ray.train.lightgbm.LightGBMTrainer.
---
---```lua
---local data, lightgbm, train = require 'rtrain.data', require 'lightgbm', require 'rtrain'
---local result = train.LightGBMTrainer({
---  train_loop_per_worker = function(config)
---    local dtrain = lightgbm.Dataset(train.get_dataset_shard('train'), {label = 'y'})
---    lightgbm.train(config, dtrain, {
---      num_boost_round = 5, valid_sets = {dtrain}, callbacks = {train.lightgbm.RayTrainReportCallback()}})
---  end,
---  train_loop_config = {objective = 'regression', num_leaves = 7, verbosity = -1},
---  datasets = {train = data.range(400):map(function(row) return {x = row.id, y = row.id * 2} end)},
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---local model = train.lightgbm.RayTrainReportCallback.get_model(result.checkpoint)
---assert(model:current_iteration() == 5 and result.metrics['training-l2'] > 0)
---```
---@class LightGBMTrainer: TorchTrainer
---@overload fun(f: TrainerOptions|(fun(config?: table): any), options?: TrainerOptions): LightGBMTrainer
local LightGBMTrainer = TorchTrainer:extend('LightGBMTrainer')

---@param f TrainerOptions|(fun(config?: table): any) the function, or one table with everything
---@param options? TrainerOptions
---Raises code 'config' for an unknown field or a wrong value.
function LightGBMTrainer:init(f, options)
  TorchTrainer.init(self, f, options)
  self.train_loop_per_worker = in_group(self.train_loop_per_worker)
end

return LightGBMTrainer
