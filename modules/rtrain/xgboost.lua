-- rtrain/xgboost.lua: train.xgboost: helpers for the train functions of an XGBoostTrainer, next to the module xgboost.

---@class rtrain.xgboost
---@field RayTrainReportCallback xgboost.RayTrainReportCallback
---@field XGBoostConfig XGBoostConfig
return require 'base.namespace'('train.xgboost', {
  modules = {
    RayTrainReportCallback = 'rtrain.trees.xgboost_callback',
    XGBoostConfig = 'rtrain.config.xgboost',
  },
})
