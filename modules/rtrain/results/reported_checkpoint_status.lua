-- rtrain/results/reported_checkpoint_status.lua: ReportedCheckpointStatus: how far a reported checkpoint is.

---How far a reported checkpoint is, as ReportedCheckpoint.status says it. Ray equivalent: ray.train.ReportedCheckpointStatus.
---@class ReportedCheckpointStatus
---@field COMMITTED string nobody has asked for a validation
---@field PENDING_VALIDATION string
---@field VALIDATED string its metrics hold those of the validation
---@field VALIDATION_FAILED string
---@field VALIDATION_TIMEOUT string
return require 'base.namespace'('train.ReportedCheckpointStatus', nil, {
  COMMITTED = 'COMMITTED', PENDING_VALIDATION = 'PENDING_VALIDATION', VALIDATED = 'VALIDATED',
  VALIDATION_FAILED = 'VALIDATION_FAILED', VALIDATION_TIMEOUT = 'VALIDATION_TIMEOUT',
})
