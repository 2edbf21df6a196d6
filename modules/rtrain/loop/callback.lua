-- rtrain/loop/callback.lua: Callback: functions that train.loop calls during the training.

local class = require 'base.class'

---Functions that train.loop calls on every rank, in the order of the list `callbacks`; each may be left out. A decision
---about the loop (should_stop) must be the same on every rank: `loop.callback_metrics` are equal on all of them.
---Lightning equivalent: lightning.pytorch.callbacks.Callback.
---
---| hook | is called |
---|---|---|
---| `on_fit_start(loop)` | once, after a checkpoint was loaded |
---| `on_train_epoch_start(loop)` | before the first batch of an epoch that this process trains |
---| `on_train_batch_start(loop, batch, batch_idx)` | before `training_step` |
---| `on_before_optimizer_step(loop, optimizer)` | gradients are complete, unscaled and clipped |
---| `on_train_batch_end(loop, outputs, batch, batch_idx)` | `outputs` is what `training_step` returned |
---| `on_validation_start(loop)`, `on_validation_end(loop)` | around the validation |
---| `on_train_epoch_end(loop)` | the epoch's metrics are in `loop.callback_metrics`, before they are reported |
---| `on_fit_end(loop)` | the loop is over, also when it was stopped |
---
---A callback with `state_dict()` and `load_state_dict(state)` has its state saved in every checkpoint.
---
---```lua
---local train = require 'rtrain'
---local StopAtLoss = train.loop.Callback:extend 'StopAtLoss'
---function StopAtLoss:init(limit) self.limit = limit end
---function StopAtLoss:on_train_epoch_end(loop)
---  loop.should_stop = loop.should_stop or loop.callback_metrics.loss < self.limit
---end
---assert(StopAtLoss(0.1).limit == 0.1)
---```
---@class train.loop.Callback
local Callback = class('Callback')

local HOOKS = {'on_fit_start', 'on_train_epoch_start', 'on_train_batch_start', 'on_before_optimizer_step',
               'on_train_batch_end', 'on_validation_start', 'on_validation_end', 'on_train_epoch_end', 'on_fit_end'}

for _, name in ipairs(HOOKS) do Callback[name] = function() end end

-- The hooks in the order of a round.
Callback._hooks = HOOKS

return Callback
