-- rtrain/config/failure.lua: FailureConfig: what happens when a worker raises or is lost.

local schema = require 'rtrain.config.schema'

local PREEMPTION = 'preemption is not distinguished from other losses in this version'

local function number_or_auto(value)
  if value == 'auto' then return nil end
  return schema.integer(0)(value) and "expected an integer of at least 0, or 'auto'"
end

---What happens when a worker raises or is lost. Ray equivalent: ray.train.FailureConfig.
---
---Three kinds of failures have separate limits: errors and losses of workers, groups that did not start, and
---preemptions, where the machine or the cores of the run were reclaimed. Several ranks that fail at the same time count
---as one failure. The first retry is immediate, later retries wait up to a minute. An error of the train function that
---occurs twice without a new checkpoint in between ends the run. So does an error of configuration or environment,
---unless it may pass (a full disk).
---
---```lua
---local train = require 'rtrain'
---assert(train.FailureConfig {max_failures = 3}.max_failures == 3)
---assert(train.FailureConfig {}.controller_failure_limit == 3)
---```
---@class FailureConfig
---@overload fun(fields?: table): FailureConfig
---@field max_failures integer attempts after the first, each from the latest checkpoint: 0 (default) for no retry, -1
---  for any number
---@field max_heals integer how often lost workers may be replaced in train.elastic while the other workers continue
---  (default -1: any number; 0: never); a healed loss does not count as a failure
---@field controller_failure_limit integer attempts after groups that did not start (default 3; -1: any number)
---@field max_preemption_failures integer how often the run may be preempted and continue (default -1: any number);
---  after that a terminated run no longer ends with exit code 75, which asks the scheduler to start it again
---@field reset_after_s? number a failure of an attempt that had run for that many seconds resets all three counts to
---  zero (default nil: never, as in Ray)
---@field preemption_grace_s number seconds from SIGTERM, or another request to stop, to the end of the workers: 30; after
---  Ctrl-C at most 10
---@field hang_threshold_s number a rank without progress is named after ten times its longest pause, at least 30 s
---  and at most this time (default 600); the run ends only when waiting longer cannot help
---@field busy_threshold_s number work without any operator, batch, collective or report ends the run after this time
---  (default 600) or ten times its longest pause; `train.busy(reason, seconds)` announces such work
---@field node_timeout_s number a run on several nodes declares a node lost that was silent for that long, and the
---  workers there end themselves (default 30); a node that returns takes part in the next attempt
---@field on_nan string the reaction to a loss or metric that becomes NaN or infinite: 'warn' (default) reports once a
---  run the step, the rank and the parameter or layer; 'error' ends the run there with code 'not_finite', without a
---  retry; 'ignore' does nothing. Checked are each loss on the CPU when its backward begins, losses on a GPU and all
---  metrics at train.report, and in train.loop the norm of clipped gradients
---@field verify_replicas integer|'auto' at every n-th `commit` of train.elastic (and step of train.loop), in loops without it
---  after every n-th step of an optimizer, the ranks compare hashes of parameters and optimizer state, which are the same on
---  all: 0 (default) never; 'auto': as often as costs 0.2 % of the time. A rank that differs, by a bit that its memory or
---  device has changed, gets the state of the others and is named, with its node; among two ranks nobody knows which is
---  right: the group restarts from its checkpoint, and the one to whose state it does not come again is named
---@field straggler string what is done about a rank that slows the others down: 'warn' (default) names it with the cause;
---  'evict' also gives its place up: a node other than the first one is not used any more, else train.elastic starts another
---  process in its place, once for each rank, and where it cannot, the rank stays; 'rebalance', with
---  ScalingConfig.virtual_workers and train.elastic, moves virtual workers from slow ranks to the others at a commit, and
---  back; 'ignore' does nothing. A rank that is slow by its checkpoints or its own code is only named:
---  `rtrain doc guide/failures`
local FailureConfig = schema.define('FailureConfig', {
  {'max_failures', default = 0, check = schema.integer(-1)},
  {'max_heals', default = -1, check = schema.integer(-1)},
  {'controller_failure_limit', default = 3, check = schema.integer(-1)},
  {'max_preemption_failures', default = -1, check = schema.integer(-1)},
  {'reset_after_s', check = schema.positive},
  {'relax_collectives_on_preemption', default = false, absent = PREEMPTION},
  {'preemption_grace_s', default = 30, check = schema.positive},
  {'hang_threshold_s', default = 600, check = schema.positive},
  {'busy_threshold_s', default = 600, check = schema.positive},
  {'node_timeout_s', default = 30, check = schema.positive},
  {'on_nan', default = 'warn', check = schema.one_of('warn', 'error', 'ignore')},
  {'verify_replicas', default = 0, check = number_or_auto},
  {'straggler', default = 'warn', check = schema.one_of('warn', 'ignore', 'evict', 'rebalance')},
  {'fail_fast', removed = 'max_failures = 0 ends the run at the first failure'},
})

---Returns the fields that the controller uses.
---@return FailureSpec
function FailureConfig:to_spec()
  return {
    max_failures = self.max_failures,
    max_heals = self.max_heals,
    controller_failure_limit = self.controller_failure_limit,
    max_preemption_failures = self.max_preemption_failures,
    reset_after_s = self.reset_after_s,
    preemption_grace_s = self.preemption_grace_s,
    hang_threshold_s = self.hang_threshold_s,
    busy_threshold_s = self.busy_threshold_s,
    node_timeout_s = self.node_timeout_s,
    straggler = self.straggler,
  }
end

return FailureConfig
