-- rtrain/loop/loop.lua: Loop: epochs of batches, with validation, callbacks, checkpoints and exact continuation.
--
-- All decisions about the loop must be the same on every rank: counts of batches, means over all ranks,
-- stop_requested(). If a rank decided differently, the others would wait in a collective.

local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local errors = require 'base.errors'
local get_context = require('rtrain.functions.context').get_context
local log = require('rtrain.functions.log').log
local MeanMetrics = require 'rtrain.loop.mean_metrics'
local ModelCheckpoint = require 'rtrain.loop.model_checkpoint'
local not_finite = require 'rtrain.session.not_finite'
local ordered = require 'base.ordered'
local Precision = require 'rtrain.loop.precision'
local Progress = require 'rtrain.loop.progress'
local report = require 'rtrain.functions.report'
local session = require 'rtrain.session'
local stop_requested = require('rtrain.functions.stop').stop_requested
local tempdir = require 'rtrain.functions.tempdir'
local torch = require 'torch'
local train_state = require('rtrain.state').state
local train_torch = require 'rtrain.torch'

---The loop as callbacks see it: its options and its progress.
---@class train.loop.Loop
---@field model nn.Module the result of prepare_model
---@field optimizer optim.Optimizer
---@field lr_scheduler? table
---@field current_epoch integer from 0
---@field global_step integer steps of the optimizer, of all epochs
---@field batch_idx integer finished batches of this epoch
---@field num_training_batches? integer batches of an epoch; nil if the loader does not know
---@field callback_metrics table the metrics of the last epoch, equal on every rank
---@field step_metrics table the metrics of the last batch on this rank
---@field is_validated? boolean whether this epoch was validated; nil without validation
---@field is_last_epoch boolean
---@field is_global_zero boolean whether this is rank 0
---@field should_stop boolean set by a callback on every rank: the loop ends after this epoch
---@field stop_reason? string
local Loop = class('Loop')

local function made(given, ...)
  if type(given) == 'function' then return given(...) end
  return given
end

local function is_wrapped(model) return train_torch.unwrap(model) ~= model end

-- Returns whether fully_shard has divided the model.
local function is_sharded(model) return model.set_requires_gradient_sync ~= nil end

local function prepared_loader(loader, options)
  if class.is(loader, require('torch.utils.data').DataLoader) then return train_torch.prepare_data_loader(loader, options) end
  return loader
end

-- Returns the number of batches of an epoch; nil if the loader does not know.
local function length_of(loader, limit)
  local length = class.of(loader).len and loader:len()
  if not length then return nil end
  return limit and math.min(length, limit) or length
end

local function saving_of(options)
  local found
  for _, callback in ipairs(options.callbacks) do
    if class.is(callback, ModelCheckpoint) then
      if found then errors.raise('config', 'train.loop: one ModelCheckpoint is enough') end
      found = callback
    end
  end
  if not options.enable_checkpointing then
    if found then errors.raise('config', 'train.loop: a ModelCheckpoint with enable_checkpointing = false') end
    return nil
  end
  return found or ModelCheckpoint()
end

-- Prepares a loader that uses each sample once; the padded loader gives the number of batches of the other ranks.
-- With virtual ranks a step waits for nobody.
function Loop:_prepare_validation(loader)
  if not loader then return end
  loader = prepared_loader(loader, self._virtual and {padding = false})
  self._val_loader = require 'rtrain.torch.unpadded_loader'(loader)
  if self._val_loader ~= loader then self._padded_val_loader = loader end
end

---@param options train.loop.Options
function Loop:init(options)
  self._options, self._context = options, get_context()
  self._virtual = session.get('train.loop').virtual
  self._saving = saving_of(options)
  local is_prepared = is_wrapped(options.model) or is_sharded(options.model)
  self.model = is_prepared and options.model or train_torch.prepare_model(options.model)
  self.optimizer = made(options.optimizer, self.model)
  self.lr_scheduler = made(options.lr_scheduler, self.optimizer)
  self._train_loader = prepared_loader(options.train_dataloader)
  self:_prepare_validation(options.val_dataloader)
  self.num_training_batches = length_of(self._train_loader, options.limit_train_batches)
  self._precision = Precision(options.precision, train_torch.get_device())
  self._sums = self:_new_sums()
  self._progress = Progress(options.callbacks)
  self.is_global_zero = self._context:get_world_rank() == 0
  self.callback_metrics, self.step_metrics, self.should_stop = ordered.new(), ordered.new(), false
  self._train_state = self:_make_state()
  self:_take_counts()
end

function Loop:_new_sums()
  return self._virtual and require 'rtrain.loop.virtual_means'(self._virtual) or MeanMetrics()
end

function Loop:_take_counts()
  local progress = self._progress
  self.current_epoch, self.batch_idx, self.global_step = progress.epoch, progress.batch_idx, progress.global_step
  local max_epochs = self._options.max_epochs
  self.is_last_epoch = max_epochs ~= nil and self.current_epoch + 1 >= max_epochs
end

function Loop:_call(hook, ...)
  for _, callback in ipairs(self._options.callbacks) do callback[hook](callback, self, ...) end
end

-- Creates the state that checkpoints and commits save.
function Loop:_make_state()
  local parts = {model = self.model, optimizer = self.optimizer, loop = self._progress, sums = self._sums}
  if self.lr_scheduler then parts.scheduler = self.lr_scheduler end
  if self._precision.scaler then parts.scaler = self._precision.scaler end
  if class.of(self._train_loader).state then parts.loader = self._train_loader end
  return train_state(parts)
end

function Loop:_report(metrics, has_checkpoint)
  if not has_checkpoint then return report.report(metrics) end
  tempdir(function(dir)
    self._train_state:save(dir)
    report.report(metrics, {checkpoint = Checkpoint.from_directory(dir),
                           checkpoint_upload_mode = self._saving.checkpoint_upload_mode})
  end)
end

-- Returns the metrics: epoch and step, then the means.
function Loop:_counted(means)
  local metrics = ordered.new {{'epoch', self.current_epoch}, {'step', self.global_step}}
  for key, value in ordered.items(means) do metrics[key] = value end
  return metrics
end

-- Returns the loss in the result of a step, and the metrics including the loss by name.
local function loss_of(outputs)
  local loss = outputs
  if type(outputs) == 'table' then loss = outputs.loss end
  if type(loss) == 'userdata' and torch.is_tensor(loss) and loss:numel() == 1 then return loss end
  errors.raise('argument', ('train.loop: training_step returns the loss, a tensor of one element, or a table with it as '
    .. 'loss; got %s'):format(type(outputs) == 'table' and 'a table without' or type(outputs)))
end

local function metrics_of(outputs, name)
  if type(outputs) ~= 'table' then return ordered.new {{name, outputs}} end
  local metrics = ordered.new()
  for _, key in ipairs(ordered.keys_of(outputs)) do metrics[tostring(key)] = outputs[key] end
  return metrics
end

-- Returns the number of samples of a batch: the first size of its first tensor.
local function batch_size(batch)
  if type(batch) == 'userdata' and torch.is_tensor(batch) then return batch:dim() > 0 and batch:size(0) or 1 end
  if type(batch) ~= 'table' then return 1 end
  for _, key in ipairs(ordered.keys_of(batch)) do
    local value = batch[key]
    if type(value) == 'userdata' and torch.is_tensor(value) and value:dim() > 0 then return value:size(0) end
  end
  return 1
end

-- Returns a batch of a loader: its value, or several values as a list.
local function packed(...)
  if select('#', ...) > 1 then return {...} end
  return (...)
end

-- Returns whether the optimizer takes a step after this batch.
function Loop:_is_boundary(batch_idx)
  local window = self._options.accumulate_grad_batches
  return (batch_idx + 1) % window == 0 or batch_idx + 1 == self.num_training_batches
end

-- Runs forward and backward of one batch. Gradients are not synchronized if it is known that later batches of the same
-- step follow.
function Loop:_backward(batch, batch_idx)
  local options, outputs = self._options, nil
  local function run()
    outputs = self._precision:forward(options.training_step, self.model, batch, batch_idx)
    self._precision:backward(loss_of(outputs) / options.accumulate_grad_batches)
  end
  -- Virtual ranks add up gradients in each batch.
  local is_alone = not self._virtual and self.num_training_batches and not self:_is_boundary(batch_idx)
  if is_sharded(self.model) then self.model:set_requires_gradient_sync(not is_alone) end
  if is_alone and is_wrapped(self.model) then self.model:no_sync(run) else run() end
  return outputs
end

local function gradients_of(parameters)
  local gradients = {}
  for _, parameter in ipairs(parameters) do
    if parameter.grad ~= nil then gradients[#gradients + 1] = parameter.grad:detach() end
  end
  return gradients
end

function Loop:_clip()
  local options, utils = self._options, torch.nn.utils
  if not options.gradient_clip_val then return end
  if options.gradient_clip_algorithm == 'value' then
    utils.clip_grad_value_(self.model:parameters(), options.gradient_clip_val)
  else
    local parameters = self.model:parameters()
    local norm = utils.get_total_norm(gradients_of(parameters))
    -- A scaler skips a step whose gradients are not finite, and continues.
    if not self._precision.scaler then not_finite.see_gradient_norm(norm) end
    utils.clip_grads_with_norm_(parameters, options.gradient_clip_val, norm)
  end
end

function Loop:_optimizer_step()
  local options = self._options
  self._precision:unscale(self.optimizer)
  self:_clip()
  self:_call('on_before_optimizer_step', self.optimizer)
  self._precision:step(self.optimizer)
  self.optimizer:zero_grad()
  self._progress.global_step = self._progress.global_step + 1
  if self.lr_scheduler and options.lr_scheduler_interval == 'step' then self.lr_scheduler:step() end
  self._has_gradients = false
end

local function plain(metrics)
  local out = ordered.new()
  for key, value in ordered.items(metrics) do
    out[key] = type(value) == 'userdata' and torch.is_tensor(value) and value:detach():item() or value
  end
  return out
end

-- Returns whether batches of other virtual ranks of the process follow in this step.
function Loop:_is_held() return self._virtual ~= nil and self._virtual:is_held() end

-- Ends a loop over the batches of virtual ranks, which the loop may have left.
function Loop:_leave_batches()
  if not self._virtual then return end
  self._virtual:finish()
  self._virtual:leave()
end

-- Runs the batch of a virtual rank. Returns the batch and the results that count for callbacks: those of the process's
-- first virtual rank.
function Loop:_run_batch(batch, batch_idx)
  local is_first = not (self._virtual and self._virtual:is_further())
  if is_first then self:_call('on_train_batch_start', batch, batch_idx) end
  local outputs = self:_backward(batch, batch_idx)
  self._has_gradients = true
  local metrics, weight = metrics_of(outputs, 'loss'), batch_size(batch)
  for key, value in ordered.items(metrics) do self._sums:add(key, value, weight) end
  if is_first then
    self.step_metrics = metrics
    self._shown = {batch = batch, outputs = outputs}
  end
  return self._shown
end

-- Returns whether the optimizer has made a step, and whether the batches of all virtual ranks are trained.
function Loop:_train_batch(batch, batch_idx)
  local shown = self:_run_batch(batch, batch_idx)
  if self:_is_held() then return false, false end
  -- Before the optimizer's step: behind it a rank that waits for a lost one could not go back.
  if self._virtual then self._sums:exchange() end
  local is_step = self:_is_boundary(batch_idx)
  if is_step then self:_optimizer_step() end
  if self._virtual then self._virtual:finish() end  -- what comes once in a step comes now
  self._shown = nil
  self._progress.batch_idx = batch_idx + 1
  self:_take_counts()
  local is_logged = is_step and self.global_step % self._options.log_every_n_steps == 0
  if is_logged then
    self.step_metrics = plain(self.step_metrics)  -- this waits for the device
    not_finite.see_kept_losses()
  end
  self:_call('on_train_batch_end', shown.outputs, shown.batch, batch_idx)
  if is_logged then log(self.step_metrics, {step = self.global_step}) end
  return is_step, true
end

function Loop:_is_out_of_steps()
  return self._options.max_steps ~= nil and self.global_step >= self._options.max_steps
end

-- Called in the middle of an epoch, only after a step of the optimizer, since checkpoints contain no gradients: saves a
-- checkpoint that is due, and returns true for a requested stop.
function Loop:_is_left_after_step()
  local is_stopped = stop_requested()
  local is_due = self._saving ~= nil and (is_stopped or self._saving:is_due_at_step(self))
  if is_due then self:_report(self:_counted(plain(self.step_metrics)), true) end
  if is_stopped then self.should_stop, self.stop_reason = true, 'stop requested' end
  return is_stopped
end

-- Trains the remaining batches of an epoch. Returns true if all of them were trained.
function Loop:_train_batches()
  local loader, limit = self._train_loader, self._options.limit_train_batches
  local next_batch, batch_idx = loader:iter(), self.batch_idx
  while not (limit and batch_idx >= limit) and not self:_is_out_of_steps() do
    local batch = packed(next_batch())
    if batch == nil then break end
    local is_step, is_counted = self:_train_batch(batch, batch_idx)
    if is_counted then batch_idx = batch_idx + 1 end
    local is_left = is_step and self:_is_left_after_step()
    if is_step then self._train_state:commit() end
    if is_left then
      self:_leave_batches()
      return false
    end
  end
  self:_leave_batches()
  -- With a loader of unknown length, the last step may have had too few batches.
  if self._has_gradients then self:_optimizer_step() end
  self:_take_counts()
  return true
end

function Loop:_validate_batch(batch, batch_idx)
  return metrics_of(self._precision:forward(self._options.validation_step, self.model, batch, batch_idx), 'val_loss')
end

-- Repeats the last batch until this rank has as many batches as the others, since a step may wait for other ranks. The
-- results do not count.
function Loop:_fill_validation(last, batch_idx)
  local padded = self._padded_val_loader
  for i = batch_idx, length_of(padded, self._options.limit_val_batches) - 1 do
    if last == nil then last = packed(padded:iter()()) end
    self:_validate_batch(last, i)
  end
end

function Loop:_validate_batches(sums)
  local limit = self._options.limit_val_batches
  local next_batch, batch_idx, last = self._val_loader:iter(), 0, nil
  while not (limit and batch_idx >= limit) do
    local batch = packed(next_batch())
    if batch == nil then break end
    local weight = batch_size(batch)
    for key, value in ordered.items(self:_validate_batch(batch, batch_idx)) do sums:add(key, value, weight) end
    if not self:_is_held() then batch_idx = batch_idx + 1 end
    last = batch
  end
  self:_leave_batches()
  if self._padded_val_loader then self:_fill_validation(last, batch_idx) end
end

function Loop:_validate()
  local sums = self:_new_sums()
  self:_call('on_validation_start')
  self.model:eval()
  torch.no_grad(function() self:_validate_batches(sums) end)
  self.model:train()
  for key, value in ordered.items(sums:reduce()) do self.callback_metrics[key] = value end
  self:_call('on_validation_end')
end

-- Called at the end of an epoch; a ReduceLROnPlateau gets the metric.
function Loop:_step_scheduler()
  local scheduler, options = self.lr_scheduler, self._options
  if not scheduler or options.lr_scheduler_interval ~= 'epoch' then return end
  if not class.is(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau) then return scheduler:step() end
  local key = options.lr_scheduler_monitor or 'val_loss'
  local value = self.callback_metrics[key]
  if value == nil then
    errors.raise('argument', ("train.loop: lr_scheduler_monitor = '%s' is not a metric of this loop%s"):format(key,
      errors.suggestion(key, ordered.keys(self.callback_metrics))))
  end
  scheduler:step(value)
end

function Loop:_end_epoch()
  self.callback_metrics = self:_counted(self._sums:reduce())
  if self._val_loader then
    self.is_validated = (self.current_epoch + 1) % self._options.check_val_every_n_epoch == 0
    if self.is_validated then self:_validate() end
  end
  self:_call('on_train_epoch_end')
  self:_step_scheduler()
  self.is_last_epoch = self.is_last_epoch or self:_is_out_of_steps() or self.should_stop
  local is_due = self._saving ~= nil and self._saving:is_due_at_epoch(self)
  local progress = self._progress
  progress.epoch, progress.batch_idx = progress.epoch + 1, 0
  progress.should_stop, progress.stop_reason = self.should_stop, self.stop_reason
  self._sums:reset()
  self:_report(self.callback_metrics, is_due)
  self:_take_counts()
  self._train_state:commit()
end

-- Counts the batches of an epoch. After a change of the number of ranks the rest of the epoch is divided again, and its
-- number of batches is unknown; that of virtual ranks stays.
function Loop:_count_batches()
  local progress, size = self._progress, self._context:get_world_size()
  local is_dealt_again = progress.batch_idx > 0 and progress.world_size ~= nil and progress.world_size ~= size
  self.num_training_batches = nil
  if is_dealt_again and not self._virtual then return end
  progress.world_size = size
  self.num_training_batches = length_of(self._train_loader, self._options.limit_train_batches)
end

-- Runs an epoch, or the rest of it. Returns false if the loop is left in the middle of it.
function Loop:_run_epoch()
  local sampler = self._train_loader.sampler
  if sampler and sampler.set_epoch then sampler:set_epoch(self.current_epoch) end
  self:_count_batches()
  self.model:train()
  self.optimizer:zero_grad()
  self._has_gradients = false
  self:_call('on_train_epoch_start')
  if not self:_train_batches() then return false end
  self:_end_epoch()
  return true
end

function Loop:_is_over()
  local max_epochs = self._options.max_epochs
  return self.should_stop or self:_is_out_of_steps() or (max_epochs ~= nil and self.current_epoch >= max_epochs)
end

local function reason_of(self)
  if self.stop_reason then return self.stop_reason end
  return self:_is_out_of_steps() and 'max_steps' or 'max_epochs'
end

-- Continues from the present progress: the start, a checkpoint, or the last commit after the loss of a rank.
function Loop:_go_on()
  self.should_stop, self.stop_reason = self._progress.should_stop, self._progress.stop_reason
  self.is_global_zero = self._context:get_world_rank() == 0
  self:_take_counts()
  not_finite.count_from(self.global_step)
end

---Trains to the end. The loss of a rank costs at most the interrupted step (train.elastic).
---@return {epochs: integer, steps: integer, reason: string, metrics: table}
function Loop:run()
  self._train_state:load(report.get_checkpoint())
  self:_go_on()
  self:_call('on_fit_start')
  self._progress.should_stop, self._progress.stop_reason = self.should_stop, self.stop_reason
  require('rtrain.elastic').quietly(self._train_state, function()
    self:_go_on()
    while not self:_is_over() do
      if not self:_run_epoch() then break end
    end
  end)
  self:_call('on_fit_end')
  return {epochs = self.current_epoch, steps = self.global_step, reason = reason_of(self), metrics = self.callback_metrics}
end

return Loop
