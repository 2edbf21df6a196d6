-- rtrain/results/reported_checkpoint_status.lua: ReportedCheckpointStatus: the status of a reported checkpoint.

---The status of a reported checkpoint, in ReportedCheckpoint.status. Ray equivalent:
---ray.train.ReportedCheckpointStatus.
---@class ReportedCheckpointStatus
---@field COMMITTED string no validation was requested
---@field PENDING_VALIDATION string
---@field VALIDATED string its metrics include those of the validation
---@field VALIDATION_FAILED string
---@field VALIDATION_TIMEOUT string
return require 'base.namespace'('train.ReportedCheckpointStatus', nil, {
  COMMITTED = 'COMMITTED', PENDING_VALIDATION = 'PENDING_VALIDATION', VALIDATED = 'VALIDATED',
  VALIDATION_FAILED = 'VALIDATION_FAILED', VALIDATION_TIMEOUT = 'VALIDATION_TIMEOUT',
})
