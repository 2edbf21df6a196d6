-- rtrain/loop/learning_rate_monitor.lua: LearningRateMonitor: adds the learning rates to the metrics.

local args = require 'base.args'
local Callback = require 'rtrain.loop.callback'
local class = require 'base.class'
local Rates = require 'torch.optim.rates'

---Adds the learning rate of each parameter group to the metrics: `lr-SGD`, or `lr-SGD/pg1`, `lr-SGD/pg2`, … for several
---groups. Lightning equivalent: lightning.pytorch.callbacks.LearningRateMonitor.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local loop = {optimizer = torch.optim.SGD({torch.zeros(1, {requires_grad = true})}, {lr = 0.5}), callback_metrics = {}}
---train.loop.LearningRateMonitor():on_train_epoch_end(loop)
---assert(loop.callback_metrics['lr-SGD'] == 0.5)
---```
---@class train.loop.LearningRateMonitor: train.loop.Callback
---@overload fun(options?: table): train.loop.LearningRateMonitor
local LearningRateMonitor = Callback:extend('LearningRateMonitor')

---@param options? {logging_interval: string} 'epoch' (default): in the epochs' reports; 'step': also by train.log, at
---  every logged step
function LearningRateMonitor:init(options)
  options = args.options(options, {'logging_interval'}, 'LearningRateMonitor')
  self.logging_interval = args.one_of('LearningRateMonitor: logging_interval', options.logging_interval or 'epoch',
    {'epoch', 'step'})
end

local function rates_into(metrics, optimizer)
  local name, groups = 'lr-' .. class.of(optimizer).__name, optimizer.param_groups
  for i, group in ipairs(groups) do metrics[#groups == 1 and name or ('%s/pg%d'):format(name, i)] = Rates.number(group.lr) end
end

---@param loop train.loop.Loop
function LearningRateMonitor:on_train_batch_end(loop)
  if self.logging_interval == 'step' then rates_into(loop.step_metrics, loop.optimizer) end
end

---@param loop train.loop.Loop
function LearningRateMonitor:on_train_epoch_end(loop) rates_into(loop.callback_metrics, loop.optimizer) end

return LearningRateMonitor
