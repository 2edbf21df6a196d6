-- rtrain/lightgbm.lua: train.lightgbm: helpers for the train functions of a LightGBMTrainer, next to the module
-- lightgbm.

---@class rtrain.lightgbm
---@field RayTrainReportCallback lightgbm.RayTrainReportCallback
return require 'base.namespace'('train.lightgbm', {
  modules = {RayTrainReportCallback = 'rtrain.trees.lightgbm_callback'},
})
