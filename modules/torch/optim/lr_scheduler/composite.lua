-- torch/optim/lr_scheduler/composite.lua: schedules that combine others.

local args = require 'base.args'
local class = require 'base.class'
local LRScheduler = require('torch.optim.lr_scheduler.scheduler').LRScheduler
local Plateau = require('torch.optim.lr_scheduler.plateau').ReduceLROnPlateau
local Rates = require 'torch.optim.rates'
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

local function check_schedulers(self, schedulers, optimizer)
  if type(schedulers) ~= 'table' or #schedulers == 0 then self:_raise('expects at least one scheduler') end
  for i, scheduler in ipairs(schedulers) do
    if not class.is(scheduler, LRScheduler) then self:_raise('schedulers[%d] is not a scheduler', i) end
    if class.is(scheduler, Plateau) then
      self:_raise('does not support ReduceLROnPlateau, whose step takes a metric (schedulers[%d])', i)
    end
    if scheduler.optimizer ~= optimizer then
      self:_raise('expects all schedulers to belong to the same optimizer, schedulers[%d] has another', i)
    end
  end
end

---Applies one schedule after the other: the second from the first milestone on, and so on. Arguments: optimizer,
---schedulers, milestones (epochs, one fewer than schedulers), {last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local schedules = torch.optim.lr_scheduler
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local warmup = schedules.ConstantLR(optimizer, {factor = 0.5, total_iters = 10})
---local decay = schedules.ExponentialLR(optimizer, 0.5)
---local scheduler = schedules.SequentialLR(optimizer, {warmup, decay}, {2})
---for _ = 1, 3 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 0.5)
---```
---@class optim.SequentialLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, schedulers: optim.LRScheduler[], milestones: integer[]): optim.SequentialLR
local SequentialLR = LRScheduler:extend('SequentialLR')

local SEQUENTIAL = args.signature('SequentialLR', {'optimizer', 'schedulers', 'milestones', {'last_epoch', -1}})

-- Undoes the initial step of a schedule.
local function undo(scheduler)
  if not scheduler._schedulers then
    scheduler.last_epoch = scheduler.last_epoch - 1
    return
  end
  for _, inner in ipairs(scheduler._schedulers) do undo(inner) end
end

---@param ... any see above
function SequentialLR:init(...)
  local bound = SEQUENTIAL:bind(...)
  self:_check_optimizer(bound.optimizer)
  check_schedulers(self, bound.schedulers, bound.optimizer)
  if #bound.milestones ~= #bound.schedulers - 1 then
    self:_raise('expects one milestone fewer than schedulers, got %d schedulers and %d milestones', #bound.schedulers,
      #bound.milestones)
  end
  self.optimizer, self._schedulers = bound.optimizer, bound.schedulers
  self._milestones, self.last_epoch = torch.list(bound.milestones), bound.last_epoch + 1
  for _, group in ipairs(self.optimizer.param_groups) do Rates.set(group, Rates.number(group.initial_lr)) end
  undo(self)
  self._schedulers[1]:_initial_step()
  self._last_lr = self._schedulers[1]:get_last_lr()
end

---Advances to the next epoch.
function SequentialLR:step()
  if virtual_ranks.is_held() then return end
  self.last_epoch = self.last_epoch + 1
  local index = 1
  while self._milestones[index] and self._milestones[index] <= self.last_epoch do index = index + 1 end
  local scheduler = self._schedulers[index]
  if self._milestones[index - 1] == self.last_epoch then
    scheduler:_update_lr(0)
  else
    scheduler:step()
  end
  self._last_lr = scheduler:get_last_lr()
end

---Applies several schedules at once: each multiplies the rate that the previous ones set. Arguments: schedulers,
---optimizer.
---
---```lua
---local torch = require 'torch'
---local schedules = torch.optim.lr_scheduler
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = schedules.ChainedScheduler{
---  schedules.ConstantLR(optimizer, {factor = 0.5, total_iters = 4}), schedules.ExponentialLR(optimizer, 0.5)}
---optimizer:step()
---scheduler:step()
---assert(optimizer.param_groups[1].lr == 0.25)
---```
---@class optim.ChainedScheduler: optim.LRScheduler
---@overload fun(schedulers: optim.LRScheduler[], optimizer?: optim.Optimizer): optim.ChainedScheduler
local ChainedScheduler = LRScheduler:extend('ChainedScheduler')

local CHAINED = args.signature('ChainedScheduler', {'schedulers', {'optimizer'}})

---@param ... any see above
function ChainedScheduler:init(...)
  local bound = CHAINED:bind(...)
  local first = type(bound.schedulers) == 'table' and bound.schedulers[1]
  local optimizer = bound.optimizer or type(first) == 'table' and first.optimizer
  check_schedulers(self, bound.schedulers, optimizer)
  self.optimizer, self._schedulers = optimizer, bound.schedulers
  self._last_lr = self:_of_groups('lr')
end

---Advances to the next epoch.
function ChainedScheduler:step()
  for _, scheduler in ipairs(self._schedulers) do scheduler:step() end
  self._last_lr = self:_of_groups('lr')
end

return {SequentialLR = SequentialLR, ChainedScheduler = ChainedScheduler}
