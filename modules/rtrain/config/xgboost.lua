-- rtrain/config/xgboost.lua: XGBoostConfig: the group of an XGBoostTrainer's workers.

local schema = require 'rtrain.config.schema'
local system = require 'base._system'

---The group of an XGBoostTrainer's workers. Ray equivalent: ray.train.xgboost.XGBoostConfig.
---@class XGBoostConfig
---@overload fun(fields?: table): XGBoostConfig
---@field xgboost_communicator string 'rabit', the communicator of XGBoost
---@field tracker_port integer port of rank 0 where the ranks connect (default 0: any free port)
---@field timeout_s number seconds that a rank may wait for the others, at the start and in a round (default 1800)
return schema.define('XGBoostConfig', {
  {'xgboost_communicator', default = 'rabit', check = schema.one_of('rabit')},
  {'tracker_port', default = 0, check = schema.integer(0, 65535)},
  {'timeout_s', default = system.default_timeout_s, check = schema.positive},
})
