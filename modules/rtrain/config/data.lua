-- rtrain/config/data.lua: DataConfig: how datasets are split over the workers.

local schema = require 'rtrain.config.schema'

local LATER = 'datasets of the trainer are not in this version: make a DataLoader in the train function'

---How the trainer's datasets are split; this version has none. Counterpart: ray.train.DataConfig.
---@class DataConfig
---@overload fun(fields?: table): DataConfig
---@field datasets_to_split string 'all'
local DataConfig = schema.define('DataConfig', {
  {'datasets_to_split', default = 'all', later = LATER},
  {'execution_options', later = LATER},
  {'enable_shard_locality', default = true, later = LATER},
})

return DataConfig
