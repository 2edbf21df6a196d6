-- rtrain/callbacks/user_callback.lua: UserCallback: functions of the user's that the script's process calls while a run goes
-- on.

local class = require 'base.class'

---Calls of a run's events, in the process of the script, between two lines of its display. Extend it, define what you need
---and pass instances as RunConfig.callbacks; files named in `$RTRAIN_CALLBACKS` (separated by commas) add what they return.
---A callback that raises is reported once, with its traceback, and marks the run as "callback degraded"; the run goes on.
---Ray equivalent: ray.train.UserCallback.
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

---Before the first worker is started.
---@param run_context TrainRunContext
function UserCallback:before_run(run_context) end -- luacheck: ignore

---All ranks have made one report.
---@param run_context TrainRunContext
---@param metrics table[] of every rank: metrics[rank + 1]
---@param checkpoint? Checkpoint the committed one, nil when no rank attached any
function UserCallback:after_report(run_context, metrics, checkpoint) end -- luacheck: ignore

---An attempt has failed. The next one, if there is to be one, waits for this call for 60 s at most
---(`$RTRAIN_CALLBACK_TIMEOUT_S`).
---@param run_context TrainRunContext
---@param exceptions table<integer, table> rank → error with code, message, traceback; only of ranks that failed themselves
function UserCallback:after_exception(run_context, exceptions) end -- luacheck: ignore

---The run has ended, in whatever way.
---@param result Result as fit() returns it
function UserCallback:after_run(result) end -- luacheck: ignore

return UserCallback
