-- rtrain/tune/schedulers/init.lua: train.tune.schedulers: classes that decide which trials continue, with Ray Tune's
-- names.

---@class rtrain.tune.schedulers
---@field FIFOScheduler rtrain.tune.FIFOScheduler
---@field AsyncHyperBandScheduler rtrain.tune.AsyncHyperBandScheduler
---@field ASHAScheduler rtrain.tune.ASHAScheduler
---@field MedianStoppingRule rtrain.tune.MedianStoppingRule
---@field PopulationBasedTraining rtrain.tune.PopulationBasedTraining
return require 'base.namespace'('train.tune.schedulers', {
  modules = {
    FIFOScheduler = 'rtrain.tune.schedulers.scheduler',
    AsyncHyperBandScheduler = 'rtrain.tune.schedulers.async_hyperband',
    ASHAScheduler = 'rtrain.tune.schedulers.asha',
    PopulationBasedTraining = 'rtrain.tune.schedulers.population_based_training',
    MedianStoppingRule = 'rtrain.tune.schedulers.median_stopping_rule',
  },
})
