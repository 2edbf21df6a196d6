-- rtrain/config/xgboost.lua: XGBoostConfig: the group of an XGBoostTrainer's workers.

local schema = require 'rtrain.config.schema'
local system = require 'base._system'

---The group of an XGBoostTrainer's workers. Ray equivalent: ray.train.xgboost.XGBoostConfig.
---@class XGBoostConfig
---@overload fun(fields?: table): XGBoostConfig
---@field xgboost_communicator string 'rabit', XGBoost's own
---@field tracker_port integer port of rank 0 at which the ranks find each other (default 0: any that is free)
---@field timeout_s number seconds that a rank may wait for others, to begin and in a round (default 1800)
return schema.define('XGBoostConfig', {
  {'xgboost_communicator', default = 'rabit', check = schema.one_of('rabit')},
  {'tracker_port', default = 0, check = schema.integer(0, 65535)},
  {'timeout_s', default = system.default_timeout_s, check = schema.positive},
})
