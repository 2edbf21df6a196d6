-- rtrain/callbacks/user_callback.lua: UserCallback: functions of the user that the script's process calls during a run.

local class = require 'base.class'

---Functions that the script's process calls at the events of a run. Extend the class, define the functions that you
---need and pass instances as RunConfig.callbacks. The files named in `$RTRAIN_CALLBACKS` (separated by commas) add the
---callbacks that they return. The first error of a callback is reported with its traceback and marks the run as
---"callback degraded"; the run continues. Ray equivalent: ray.train.UserCallback.
---
---```lua
---local train = require 'rtrain'
---local Slowest = train.UserCallback:extend('Slowest')
---function Slowest:before_run(run_context) self.name = run_context.run_config.name end
---function Slowest:after_report(run_context, metrics, checkpoint)
---  self.slowest = math.max(metrics[1].seconds, metrics[2].seconds)  -- metrics[rank + 1]
---end
---function Slowest:after_run(result) self.metrics = result.metrics end
---
---local slowest = Slowest()
---train.DataParallelTrainer({
---  train_loop_per_worker = function() train.report {seconds = 1 + train.get_context():get_world_rank()} end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---  run_config = train.RunConfig {callbacks = {slowest}},
---}):fit()
---assert(slowest.slowest == 2 and slowest.metrics.seconds == 1 and #slowest.name > 0)
---```
---@class UserCallback
local UserCallback = class('UserCallback')

---Called before the first worker is started.
---@param run_context TrainRunContext
function UserCallback:before_run(run_context) end -- luacheck: ignore

---Called when all ranks have made one report.
---@param run_context TrainRunContext
---@param metrics table[] the metrics of every rank: metrics[rank + 1]
---@param checkpoint? Checkpoint the committed checkpoint, nil when no rank attached one
function UserCallback:after_report(run_context, metrics, checkpoint) end -- luacheck: ignore

---Called when an attempt has failed. If there is another attempt, it waits at most 60 s (`$RTRAIN_CALLBACK_TIMEOUT_S`)
---for this call.
---@param run_context TrainRunContext
---@param exceptions table<integer, table> rank → error with code, message, traceback; contains only the ranks that
---  failed themselves
function UserCallback:after_exception(run_context, exceptions) end -- luacheck: ignore

---Called when the run has ended, whether it finished or not.
---@param result Result as fit() returns it
function UserCallback:after_run(result) end -- luacheck: ignore

return UserCallback
