-- rtrain/loop/progress_bar.lua: ProgressBar: prints the progress of the loop as a line from time to time.

local args = require 'base.args'
local Callback = require 'rtrain.loop.callback'
local errors = require 'base.errors'
local metrics_text = require 'rtrain.metrics.text'
local monotonic = require('base._system').monotonic
local plain = require 'rtrain.metrics.plain'

---Rank 0 prints a line every `refresh_rate` batches: `epoch 0  50/469  12.3 it/s  loss=0.41`. Workers have no terminal,
---so it is not a bar. Lightning equivalent: lightning.pytorch.callbacks.TQDMProgressBar.
---@class train.loop.ProgressBar: train.loop.Callback
---@overload fun(options?: table): train.loop.ProgressBar
local ProgressBar = Callback:extend('ProgressBar')

---@param options? {refresh_rate: integer} batches between two lines, default 50
function ProgressBar:init(options)
  options = args.options(options, {'refresh_rate'}, 'ProgressBar')
  self.refresh_rate = options.refresh_rate or 50
  if type(self.refresh_rate) ~= 'number' or self.refresh_rate < 1 then
    errors.raise('argument', ('ProgressBar: refresh_rate = %s: expected an integer of at least 1'):format(
      tostring(self.refresh_rate)))
  end
end

---@param loop train.loop.Loop
function ProgressBar:on_train_epoch_start(loop) self._first, self._since = loop.batch_idx, monotonic() end

---@param loop train.loop.Loop
function ProgressBar:on_train_batch_end(loop)
  if not loop.is_global_zero or loop.batch_idx % self.refresh_rate ~= 0 then return end
  local elapsed = monotonic() - self._since
  print(('epoch %d  %d%s  %.1f it/s  %s'):format(loop.current_epoch, loop.batch_idx,
    loop.num_training_batches and '/' .. loop.num_training_batches or '',
    elapsed > 0 and (loop.batch_idx - self._first) / elapsed or 0, metrics_text.line(plain(loop.step_metrics, 'ProgressBar'))))
end

return ProgressBar
