-- rtrain/results/checkpoint_consistency_mode.lua: CheckpointConsistencyMode: the condition that
-- get_all_reported_checkpoints() waits for.

---The condition that get_all_reported_checkpoints() waits for; the names work as strings too. Ray equivalent:
---ray.train.CheckpointConsistencyMode.
---@class CheckpointConsistencyMode
---@field COMMITTED string the checkpoints are committed; they have the metrics of their reports
---@field VALIDATED string their validations have also ended
return require 'base.namespace'('train.CheckpointConsistencyMode', nil, {COMMITTED = 'COMMITTED', VALIDATED = 'VALIDATED'})
