-- rtrain/config/failure.lua: FailureConfig: what happens when a worker raises or is lost.

local schema = require 'rtrain.config.schema'

local PREEMPTION = 'preemption is not told from other losses in this version'

---What happens when a worker raises or is lost. Counterpart: ray.train.FailureConfig.
---
---```lua
---local train = require 'rtrain'
---assert(train.FailureConfig {max_failures = 3}.max_failures == 3)
---```
---@class FailureConfig
---@overload fun(fields?: table): FailureConfig
---@field max_failures integer attempts after the first, each from the latest checkpoint: 0 (default) none, -1 any number
---@field controller_failure_limit integer -1 in this version
---@field preemption_grace_s number seconds from SIGTERM, or another request to stop, to the end of the workers: 30; after
---  Ctrl-C at most 10
local FailureConfig = schema.define('FailureConfig', {
  {'max_failures', default = 0, check = schema.integer(-1)},
  {'controller_failure_limit', default = -1, later = 'failed starts count as failures in this version'},
  {'max_preemption_failures', default = -1, later = PREEMPTION},
  {'relax_collectives_on_preemption', default = false, later = PREEMPTION},
  {'preemption_grace_s', default = 30, check = schema.positive},
  {'fail_fast', removed = 'max_failures = 0 ends the run at the first failure'},
})

return FailureConfig
