-- rtrain/loop/model_checkpoint.lua: ModelCheckpoint: chooses the reports of train.loop that carry a checkpoint.

local args = require 'base.args'
local Callback = require 'rtrain.loop.callback'
local errors = require 'base.errors'
local Monitor = require 'rtrain.loop.monitor'

---Chooses the epochs and steps at which the loop saves. The run's CheckpointConfig decides how many checkpoints are
---kept and which are the best. Without a ModelCheckpoint in `callbacks` the loop saves at the end of every epoch.
---Lightning equivalent: lightning.pytorch.callbacks.ModelCheckpoint.
---
---```lua
---local train = require 'rtrain'
---local saving = train.loop.ModelCheckpoint {every_n_epochs = 2}
---assert(not saving:is_due_at_epoch {current_epoch = 0} and saving:is_due_at_epoch {current_epoch = 1})
---```
---@class train.loop.ModelCheckpoint: train.loop.Callback
---@overload fun(options?: table): train.loop.ModelCheckpoint
local ModelCheckpoint = Callback:extend('ModelCheckpoint')

local OPTIONS = {'monitor', 'mode', 'every_n_epochs', 'every_n_train_steps', 'save_last', 'checkpoint_upload_mode'}

local function check_count(name, value)
  if value == nil or (type(value) == 'number' and value >= 1 and value % 1 == 0) then return end
  errors.raise('argument', ('ModelCheckpoint: %s = %s: expected an integer of at least 1'):format(name, tostring(value)))
end

---@param options? {monitor: string, mode: string, every_n_epochs: integer, every_n_train_steps: integer, save_last:
---  boolean, checkpoint_upload_mode: string} monitor: save only at epochs that improve this metric (mode 'min' or
---  'max'), else at each; every_n_epochs = 1; every_n_train_steps: also in the middle of an epoch, after that many
---  steps of the optimizer; save_last = true: always save at the last epoch; checkpoint_upload_mode = 'SYNC'
function ModelCheckpoint:init(options)
  options = args.options(options, OPTIONS, 'ModelCheckpoint')
  check_count('every_n_epochs', options.every_n_epochs)
  check_count('every_n_train_steps', options.every_n_train_steps)
  self.every_n_epochs, self.every_n_train_steps = options.every_n_epochs or 1, options.every_n_train_steps
  self.save_last = options.save_last ~= false
  self.checkpoint_upload_mode = options.checkpoint_upload_mode
  if options.monitor ~= nil then
    self._monitor = Monitor('ModelCheckpoint', options.monitor, options.mode or 'min')
    self.best_model_score = self._monitor:worst()
  end
end

---Returns whether the report of this epoch carries a checkpoint, and remembers a better metric.
---@param loop train.loop.Loop
---@return boolean
function ModelCheckpoint:is_due_at_epoch(loop)
  if self.save_last and loop.is_last_epoch then return true end
  if (loop.current_epoch + 1) % self.every_n_epochs ~= 0 then return false end
  if self._monitor == nil then return true end
  if loop.is_validated == false then return false end
  local value = self._monitor:value(loop.callback_metrics)
  local is_better = self._monitor:is_better(value, self.best_model_score)
  if is_better then self.best_model_score = value end
  return is_better
end

---Returns whether to save after this step of the optimizer.
---@param loop train.loop.Loop
---@return boolean
function ModelCheckpoint:is_due_at_step(loop)
  return self.every_n_train_steps ~= nil and loop.global_step % self.every_n_train_steps == 0
end

---@return table state best_model_score
function ModelCheckpoint:state_dict() return {best_model_score = self.best_model_score} end

---@param state table a result of state_dict
function ModelCheckpoint:load_state_dict(state) self.best_model_score = state.best_model_score or self.best_model_score end

return ModelCheckpoint
