-- xgboost/init.lua: XGBoost's Python API (gradient-boosted trees) over the C interface of its library from the PyPI
-- wheel.

---@class xgboost
---@field DMatrix xgboost.DMatrix
---@field QuantileDMatrix xgboost.QuantileDMatrix
---@field ExtMemQuantileDMatrix xgboost.ExtMemQuantileDMatrix
---@field DataIter xgboost.DataIter
---@field Booster xgboost.Booster
---@field train fun(params: table, dtrain: xgboost.DMatrix, options?: table): xgboost.Booster
---@field callback xgboost.callback
---@field collective xgboost.collective
---@field tracker xgboost.tracker
---@field version fun(): string
---@field set_config fun(config: table)
---@field get_config fun(): table
local xgboost = require 'base.namespace'('xgboost', {
  files = {
    {'xgboost.dmatrix', 'DMatrix', 'QuantileDMatrix', 'ExtMemQuantileDMatrix'},
    {'xgboost.data_iter', 'DataIter'},
    {'xgboost.training', 'train'},
    {'xgboost.library', 'version', 'set_config', 'get_config'},
  },
  modules = {
    Booster = 'xgboost.booster',
    callback = 'xgboost.callback',
    collective = 'xgboost.collective',
    tracker = 'xgboost.tracker',
  },
  absent = {
    cv = 'train in a loop over the folds',
    XGBClassifier = "write xgboost.train {objective = 'binary:logistic'}",
    XGBRegressor = 'write xgboost.train',
    XGBRanker = "write xgboost.train {objective = 'rank:ndcg'}",
    dask = 'train.XGBoostTrainer trains on several processes',
    spark = 'train.XGBoostTrainer trains on several processes',
  },
})

return xgboost
