-- lightgbm/init.lua: LightGBM's Python API (gradient-boosted trees) over the C interface of its library from the PyPI
-- wheel.

---@class lightgbm
---@field Dataset lightgbm.Dataset
---@field Booster lightgbm.Booster
---@field train fun(params: table, train_set: lightgbm.Dataset, options?: table): lightgbm.Booster
---@field Callback lightgbm.Callback
---@field early_stopping fun(stopping_rounds: integer, options?: table): lightgbm.Callback
---@field log_evaluation fun(period?: integer): lightgbm.Callback
---@field record_evaluation fun(eval_result: table): lightgbm.Callback
---@field reset_parameter fun(params: table): lightgbm.Callback
---@field network lightgbm.network
---@field version fun(): string
return require 'base.namespace'('lightgbm', {
  files = {
    {'lightgbm.training', 'train'},
    {'lightgbm.callback', 'Callback', 'early_stopping', 'log_evaluation', 'record_evaluation', 'reset_parameter'},
    {'lightgbm.library', 'version'},
  },
  modules = {
    Dataset = 'lightgbm.dataset',
    Booster = 'lightgbm.booster',
    network = 'lightgbm.network',
  },
  absent = {
    cv = 'train in a loop over the folds',
    LGBMClassifier = "write lightgbm.train {objective = 'binary'}",
    LGBMRegressor = 'write lightgbm.train',
    LGBMRanker = "write lightgbm.train {objective = 'lambdarank'}",
  },
})
