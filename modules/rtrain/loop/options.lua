-- rtrain/loop/options.lua: the options of train.loop, with their checks.

local Callback = require 'rtrain.loop.callback'
local class = require 'base.class'
local schema = require 'rtrain.config.schema'

local function is_function(value)
  if type(value) ~= 'function' then return 'expected a function' end
end

local function is_loader(value)
  local found = class.of(value)
  if not found or not found.iter then return 'expected a DataLoader or what iter_torch_batches() gives' end
end

local function is_model(value)
  if not class.is(value, require('torch.nn').Module) then return 'expected an nn.Module' end
end

-- Accepts an object with state_dict, or a function that makes one.
local function is_made_or_function(value)
  local found = class.of(value)
  if type(value) ~= 'function' and not (found and found.state_dict) then
    return 'expected one that is made, or a function that makes it'
  end
end

local function are_callbacks(value)
  if type(value) ~= 'table' or class.of(value) then return 'expected a list of callbacks' end
  for i, callback in ipairs(value) do
    if not class.is(callback, Callback) then
      return ('number %d is not a train.loop.Callback'):format(i)
    end
  end
end

---The options of train.loop. Lightning equivalent: lightning.pytorch.Trainer, and the methods of a LightningModule.
---@class train.loop.Options
---@field model nn.Module prepared for all workers by the loop (prepare_model), unless it already is
---@field training_step fun(model: nn.Module, batch: any, batch_idx: integer): torch.Tensor|table the loss (), or a
---  table with the loss as `loss` and other metrics, whose means over the epoch are reported
---@field optimizer optim.Optimizer|fun(model: nn.Module): optim.Optimizer
---@field train_dataloader any a DataLoader, which the loop splits over the workers, or a result of a shard's
---  iter_torch_batches(). A batch is the loader's value, or the list of its values: `batch[1], batch[2]`
---@field validation_step? fun(model: nn.Module, batch: any, batch_idx: integer): torch.Tensor|table metrics of a
---  batch, without gradients; a tensor is `val_loss`. The loop reports the means over all ranks, weighted by the
---  batches' sizes: each sample of a DataLoader counts once. All ranks call it the same number of times; surplus
---  results of a rank with fewer batches are not counted
---@field val_dataloader? any
---@field lr_scheduler? any a scheduler, or fun(optimizer); a ReduceLROnPlateau follows lr_scheduler_monitor
---@field lr_scheduler_interval? string 'epoch' (default) or 'step'
---@field lr_scheduler_monitor? string default 'val_loss'
---@field max_epochs? integer ends the loop; required unless max_steps is given
---@field max_steps? integer steps of the optimizer
---@field accumulate_grad_batches? integer batches for each step of the optimizer, default 1
---@field gradient_clip_val? number default: no clipping
---@field gradient_clip_algorithm? string 'norm' (default) or 'value'
---@field precision? string '32-true' (default), 'bf16-mixed' or '16-mixed'
---@field check_val_every_n_epoch? integer default 1
---@field limit_train_batches? integer largest number of batches of an epoch
---@field limit_val_batches? integer
---@field log_every_n_steps? integer steps between two points of train.log, default 50
---@field enable_checkpointing? boolean default true: save as the ModelCheckpoint among the callbacks says, without
---  one at each epoch
---@field callbacks? train.loop.Callback[]
local Options = schema.define('train.loop', {
  {'model', check = is_model},
  {'training_step', check = is_function},
  {'optimizer', check = is_made_or_function},
  {'train_dataloader', check = is_loader},
  {'validation_step', check = is_function},
  {'val_dataloader', check = is_loader},
  {'lr_scheduler', check = is_made_or_function},
  {'lr_scheduler_interval', default = 'epoch', check = schema.one_of('epoch', 'step')},
  {'lr_scheduler_monitor', check = schema.string},
  {'max_epochs', check = schema.integer(1)},
  {'max_steps', check = schema.integer(1)},
  {'accumulate_grad_batches', default = 1, check = schema.integer(1)},
  {'gradient_clip_val', check = schema.positive},
  {'gradient_clip_algorithm', default = 'norm', check = schema.one_of('norm', 'value')},
  {'precision', default = '32-true', check = schema.one_of('32-true', 'bf16-mixed', '16-mixed')},
  {'check_val_every_n_epoch', default = 1, check = schema.integer(1)},
  {'limit_train_batches', check = schema.integer(1)},
  {'limit_val_batches', check = schema.integer(1)},
  {'log_every_n_steps', default = 50, check = schema.integer(1)},
  {'enable_checkpointing', default = true, check = schema.boolean},
  {'callbacks', check = are_callbacks},
})

local REQUIRED = {'model', 'training_step', 'optimizer', 'train_dataloader'}

function Options:_validate()
  local errors = require 'base.errors'
  for _, name in ipairs(REQUIRED) do
    if self[name] == nil then errors.raise('config', ('train.loop: %s is missing'):format(name)) end
  end
  if not self.max_epochs and not self.max_steps then
    errors.raise('config', 'train.loop: set max_epochs or max_steps, or it would never end')
  end
  if (self.validation_step == nil) ~= (self.val_dataloader == nil) then
    errors.raise('config', 'train.loop: validation_step and val_dataloader belong together')
  end
  self.callbacks = self.callbacks or {}
end

return Options
