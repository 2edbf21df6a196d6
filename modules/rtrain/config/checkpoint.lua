-- rtrain/config/checkpoint.lua: CheckpointConfig: which checkpoints of a run are kept.

local schema = require 'rtrain.config.schema'

---Which checkpoints of a run are kept. Ray equivalent: ray.train.CheckpointConfig.
---
---```lua
---local train = require 'rtrain'
---local config = train.CheckpointConfig {num_to_keep = 2, checkpoint_score_attribute = 'accuracy'}
---assert(config.checkpoint_score_order == 'max')
---```
---@class CheckpointConfig
---@overload fun(fields?: table): CheckpointConfig
---@field num_to_keep? integer how many checkpoints are kept, at least 1; nil keeps all. The latest is always kept
---@field checkpoint_score_attribute? string key of the attached metrics that ranks the checkpoints; nil: the newest
---  are best
---@field checkpoint_score_order string 'max' (default) or 'min'
local CheckpointConfig = schema.define('CheckpointConfig', {
  {'num_to_keep', check = schema.integer(1)},
  {'checkpoint_score_attribute', check = schema.string},
  {'checkpoint_score_order', default = 'max', check = schema.one_of('max', 'min')},
  {'checkpoint_frequency', removed = 'report a checkpoint whenever the train function has one'},
  {'checkpoint_at_end', removed = 'report a checkpoint at the end of the train function'},
})

return CheckpointConfig
