-- rtrain/loggers/tensorboard.lua: train.loggers.TensorBoard.

local checks = require 'rtrain.loggers.checks'
local Logger = require 'rtrain.loggers.logger'

---Writes TensorBoard's event files while the run goes on: `tensorboard --logdir` of the storage folder shows them live.
---Reports have their index as step, train.log its own; a name that has both is below `logged/`. Media of rank 0 are
---included, but for tables. After a restart the steps that are computed again are there twice;
---`rtrain export --format tensorboard` writes those that count. Ray equivalent: TBXLoggerCallback.
---
---```lua
---local train = require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function() train.report {loss = 0.5} end,
---  run_config = train.RunConfig {callbacks = {train.loggers.TensorBoard()}},
---}):fit()
---local path = io.popen('ls ' .. result.path .. '/tensorboard'):read '*l'
---assert(path:find '^events%.out%.tfevents')
---```
---@class TensorBoard: UserCallback
---@overload fun(options?: {log_dir: string}): TensorBoard
---@field log_dir? string folder of the event files (default `tensorboard` in the run's folder)
local TensorBoard = Logger:extend('TensorBoard')

---@param options? table
function TensorBoard:init(options)
  local given = self:_checked(options, {log_dir = checks.text})
  self._tracker = {kind = 'tensorboard', log_dir = given.log_dir}
end

function TensorBoard:_rest_command(run) return ('rtrain export --format tensorboard -o FOLDER %s'):format(run) end

return TensorBoard
