-- rtrain/lightgbm.lua: train.lightgbm: what train functions of a LightGBMTrainer use besides the module lightgbm.

---@class rtrain.lightgbm
---@field RayTrainReportCallback lightgbm.RayTrainReportCallback
return require 'base.namespace'('train.lightgbm', {
  modules = {RayTrainReportCallback = 'rtrain.trees.lightgbm_callback'},
})
