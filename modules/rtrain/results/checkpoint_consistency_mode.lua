-- rtrain/results/checkpoint_consistency_mode.lua: CheckpointConsistencyMode: what get_all_reported_checkpoints() waits for.

---What get_all_reported_checkpoints() waits for; the names work as strings too. Ray equivalent:
---ray.train.CheckpointConsistencyMode.
---@class CheckpointConsistencyMode
---@field COMMITTED string the checkpoints are committed; they have the metrics of their reports
---@field VALIDATED string their validations have ended too
return require 'base.namespace'('train.CheckpointConsistencyMode', nil, {COMMITTED = 'COMMITTED', VALIDATED = 'VALIDATED'})
