-- rtrain/loop/early_stopping.lua: EarlyStopping: ends the loop when a metric stops improving.

local args = require 'base.args'
local Callback = require 'rtrain.loop.callback'
local errors = require 'base.errors'
local Monitor = require 'rtrain.loop.monitor'

---Ends the loop when a metric has not improved for `patience` validations (without a validation: epochs). Lightning
---equivalent: lightning.pytorch.callbacks.EarlyStopping.
---
---```lua
---local train = require 'rtrain'
---local stopping = train.loop.EarlyStopping {monitor = 'val_loss', patience = 1}
---local loop = {callback_metrics = {}}
---for _, value in ipairs {0.5, 0.4, 0.45} do
---  loop.callback_metrics.val_loss = value
---  stopping:on_train_epoch_end(loop)
---end
---assert(loop.should_stop and loop.stop_reason:find 'val_loss')
---```
---@class train.loop.EarlyStopping: train.loop.Callback
---@overload fun(options: table): train.loop.EarlyStopping
local EarlyStopping = Callback:extend('EarlyStopping')

local OPTIONS = {'monitor', 'min_delta', 'patience', 'mode', 'check_finite', 'stopping_threshold', 'divergence_threshold'}

---@param options {monitor: string, min_delta: number, patience: integer, mode: string, check_finite: boolean,
---  stopping_threshold: number, divergence_threshold: number} min_delta = 0: smaller changes do not count as an
---  improvement; patience = 3; mode = 'min'; check_finite = true: NaN or an infinity ends the loop; stopping_threshold:
---  a better value ends it at once; divergence_threshold: a worse value ends it at once
function EarlyStopping:init(options)
  options = args.options(options, OPTIONS, 'EarlyStopping')
  self._monitor = Monitor('EarlyStopping', options.monitor, options.mode or 'min')
  self.min_delta, self.patience = options.min_delta or 0, options.patience or 3
  if type(self.patience) ~= 'number' or self.patience < 0 then
    errors.raise('argument', ('EarlyStopping: patience = %s: expected an integer of at least 0'):format(
      tostring(self.patience)))
  end
  self.check_finite = options.check_finite ~= false
  self.stopping_threshold, self.divergence_threshold = options.stopping_threshold, options.divergence_threshold
  self.best_score, self.wait_count = self._monitor:worst(), 0
end

-- Returns why the loop should end at this value, or nil.
function EarlyStopping:_verdict(value)
  local key, monitor = self._monitor.key, self._monitor
  if self.check_finite and (value ~= value or math.abs(value) == math.huge) then
    return ('%s = %s is not finite'):format(key, tostring(value))
  end
  local good, bad = self.stopping_threshold, self.divergence_threshold
  if good and monitor:is_better(value, good) then return ('%s = %.6g has passed %.6g'):format(key, value, good) end
  if bad and monitor:is_better(bad, value) then return ('%s = %.6g is beyond %.6g'):format(key, value, bad) end
  if monitor:is_better(value, self.best_score, self.min_delta) then
    self.best_score, self.wait_count = value, 0
    return nil
  end
  self.wait_count = self.wait_count + 1
  if self.wait_count < self.patience then return nil end
  return ('%s has not become better than %.6g for %d times'):format(key, self.best_score, self.wait_count)
end

---Checks the metric of the epoch.
---@param loop train.loop.Loop
function EarlyStopping:on_train_epoch_end(loop)
  if loop.is_validated == false then return end
  local reason = self:_verdict(self._monitor:value(loop.callback_metrics))
  if reason then loop.should_stop, loop.stop_reason = true, reason end
end

---@return table state best_score and wait_count
function EarlyStopping:state_dict() return {best_score = self.best_score, wait_count = self.wait_count} end

---@param state table a result of state_dict
function EarlyStopping:load_state_dict(state) self.best_score, self.wait_count = state.best_score, state.wait_count end

return EarlyStopping
