-- torch/optim/lr_scheduler.lua: schedules of the learning rate. Call scheduler:step() after each epoch.
--
-- As in PyTorch a schedule computes the next rate from the current one where it can, so that several can be chained
-- and a rate that the script changed is respected.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local ordered = require 'rtrain.ordered'
local torch = require 'torch'

local lr_scheduler = {}

---Base of the schedules. A subclass defines `get_lr()`, which returns a list with one rate for each group.
---@class optim.LRScheduler
---@field last_epoch integer how often step was called
local LRScheduler = class('LRScheduler')
lr_scheduler.LRScheduler = LRScheduler

---@param optimizer optim.Optimizer
---@param last_epoch? integer -1 begins anew; otherwise the groups need `initial_lr`
function LRScheduler:init(optimizer, last_epoch)
  last_epoch = last_epoch or -1
  if not class.is(optimizer, require('torch.optim.optimizer').Optimizer) then
    errors.raise('argument', class.of(self).__name .. ': the first argument is an optimizer')
  end
  self.optimizer, self.base_lrs = optimizer, {}
  for i, group in ipairs(optimizer.param_groups) do
    if last_epoch == -1 then group.initial_lr = group.lr end
    if group.initial_lr == nil then
      errors.raise('argument', ("%s: param_groups[%d] has no initial_lr, which resuming needs"):format(
        class.of(self).__name, i))
    end
    self.base_lrs[i] = group.initial_lr
  end
  self.last_epoch, self._step_count = last_epoch, 0
  self:step()
end

local function rates(self)
  local out = {}
  for i, group in ipairs(self.optimizer.param_groups) do out[i] = group.lr end
  return out
end

-- Every group's rate times the factor.
local function scaled(self, factor)
  local out = rates(self)
  for i, lr in ipairs(out) do out[i] = lr * factor end
  return out
end

---Goes on to the next epoch and sets the learning rates.
---@param ... nil it takes no argument
function LRScheduler:step(...)
  if select('#', ...) > 0 then
    errors.raise('argument', class.of(self).__name .. ':step takes no argument')
  end
  self._step_count = self._step_count + 1
  self.last_epoch = self.last_epoch + 1
  for i, lr in ipairs(self:get_lr()) do self.optimizer.param_groups[i].lr = lr end
  self._last_lr = rates(self)
end

---@return number[] the rates in use, one for each group
function LRScheduler:get_last_lr() return self._last_lr end

-- Names of the fields that a subclass saves beside those of the base.
LRScheduler._saved = {}

---What a resumed run needs; functions of LambdaLR and MultiplicativeLR are left out.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local function schedule() return torch.optim.lr_scheduler.StepLR(optimizer, 1, {gamma = 0.5}) end
---local first, second = schedule(), schedule()
---first:step()
---second:load_state_dict(first:state_dict())
---assert(second.last_epoch == 1)  -- the rate itself is in the optimizer's state_dict
---```
---@return table state rtrain.ordered map
function LRScheduler:state_dict()
  local state = ordered.new()
  for _, name in ipairs(self._saved) do state[name] = self[name] end
  for _, name in ipairs{'base_lrs', 'last_epoch', '_step_count', '_last_lr'} do state[name] = self[name] end
  return state
end

---Takes over what state_dict gave. The optimizer loads its own, which holds the rates in use.
---@param state table
function LRScheduler:load_state_dict(state)
  for _, names in ipairs{self._saved, {'base_lrs', 'last_epoch', '_step_count', '_last_lr'}} do
    for _, name in ipairs(names) do
      if state[name] ~= nil then self[name] = state[name] end
    end
  end
end

-- A schedule with the given parameters; fields of the same names are set before the first step.
local function schedule(name, parameters, get_lr)
  local Schedule = LRScheduler:extend(name)
  local all = {'optimizer'}
  for _, parameter in ipairs(parameters) do all[#all + 1] = parameter end
  all[#all + 1] = {'last_epoch', -1}
  local signature = args.signature(name, all)
  local saved = {}
  for i, parameter in ipairs(parameters) do saved[i] = type(parameter) == 'table' and parameter[1] or parameter end
  Schedule._saved = saved

  function Schedule:init(...)
    local bound = signature:bind(...)
    for _, field in ipairs(saved) do self[field] = bound[field] end
    if self._prepare then self:_prepare() end
    LRScheduler.init(self, bound.optimizer, bound.last_epoch)
  end
  Schedule.get_lr = get_lr
  lr_scheduler[name] = Schedule
  return Schedule
end

---Times gamma every step_size epochs. Arguments: optimizer, step_size, {gamma = 0.1, last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, {gamma = 0.5})
---for _ = 1, 4 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 0.25)
---```
---@class optim.StepLR: optim.LRScheduler
schedule('StepLR', {'step_size', {'gamma', 0.1}}, function(self)
  local boundary = self.last_epoch ~= 0 and self.last_epoch % self.step_size == 0
  return boundary and scaled(self, self.gamma) or rates(self)
end)

---Times gamma at each of the milestones, a list of epochs. Arguments: optimizer, milestones, {gamma = 0.1}.
---@class optim.MultiStepLR: optim.LRScheduler
local MultiStepLR = schedule('MultiStepLR', {'milestones', {'gamma', 0.1}}, function(self)
  local times = self.milestones[self.last_epoch]
  return times and scaled(self, self.gamma ^ times) or rates(self)
end)

-- epoch → how often it is in the list: what Python keeps too.
function MultiStepLR:_prepare()
  local counts = setmetatable({}, torch._intmap_meta)
  for _, epoch in ipairs(self.milestones) do counts[epoch] = (counts[epoch] or 0) + 1 end
  self.milestones = counts
end

---Times gamma every epoch. Arguments: optimizer, gamma.
---@class optim.ExponentialLR: optim.LRScheduler
schedule('ExponentialLR', {'gamma'}, function(self)
  return self.last_epoch == 0 and rates(self) or scaled(self, self.gamma)
end)

---Half a cosine from the first rate to eta_min over T_max epochs (Loshchilov and Hutter 2017). Arguments: optimizer,
---T_max, {eta_min = 0}.
---@class optim.CosineAnnealingLR: optim.LRScheduler
schedule('CosineAnnealingLR', {'T_max', {'eta_min', 0}}, function(self)
  local out, epoch, cos, pi = rates(self), self.last_epoch, math.cos, math.pi
  if epoch == 0 then return out end
  for i, lr in ipairs(out) do
    if self._step_count == 1 then
      out[i] = self.eta_min + (self.base_lrs[i] - self.eta_min) * (1 + cos(epoch * pi / self.T_max)) / 2
    elseif (epoch - 1 - self.T_max) % (2 * self.T_max) == 0 then
      out[i] = lr + (self.base_lrs[i] - self.eta_min) * (1 - cos(pi / self.T_max)) / 2
    else
      local ratio = (1 + cos(pi * epoch / self.T_max)) / (1 + cos(pi * (epoch - 1) / self.T_max))
      out[i] = ratio * (lr - self.eta_min) + self.eta_min
    end
  end
  return out
end)

---The first rate times factor for total_iters epochs, then the first rate. Arguments: optimizer, {factor = 1/3,
---total_iters = 5}.
---@class optim.ConstantLR: optim.LRScheduler
schedule('ConstantLR', {{'factor', 1 / 3}, {'total_iters', 5}}, function(self)
  if self.last_epoch == 0 then return scaled(self, self.factor) end
  return self.last_epoch == self.total_iters and scaled(self, 1 / self.factor) or rates(self)
end)

---A line from start_factor to end_factor over total_iters epochs. Arguments: optimizer, {start_factor = 1/3,
---end_factor = 1, total_iters = 5}.
---@class optim.LinearLR: optim.LRScheduler
schedule('LinearLR', {{'start_factor', 1 / 3}, {'end_factor', 1}, {'total_iters', 5}}, function(self)
  if self.last_epoch == 0 then return scaled(self, self.start_factor) end
  if self.last_epoch > self.total_iters then return rates(self) end
  local rise = self.end_factor - self.start_factor
  return scaled(self, 1 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))
end)

---The first rate times (1 - epoch / total_iters) ^ power. Arguments: optimizer, {total_iters = 5, power = 1}.
---@class optim.PolynomialLR: optim.LRScheduler
schedule('PolynomialLR', {{'total_iters', 5}, {'power', 1}}, function(self)
  if self.last_epoch == 0 or self.last_epoch > self.total_iters then return rates(self) end
  local now, before = 1 - self.last_epoch / self.total_iters, 1 - (self.last_epoch - 1) / self.total_iters
  return scaled(self, (now / before) ^ self.power)
end)

-- A function for each group from one function or a list of them.
local function per_group(self)
  local fns = self.lr_lambda
  if type(fns) == 'function' then
    return function() return fns end
  end
  return function(i) return fns[i] end
end

---The first rate times lr_lambda(epoch). Arguments: optimizer, lr_lambda (a function, or a list with one for each
---group).
---@class optim.LambdaLR: optim.LRScheduler
local LambdaLR = schedule('LambdaLR', {'lr_lambda'}, function(self)
  local out, fn_of = {}, per_group(self)
  for i, base in ipairs(self.base_lrs) do out[i] = base * fn_of(i)(self.last_epoch) end
  return out
end)
LambdaLR._saved = {}

---The current rate times lr_lambda(epoch), from epoch 1 on. Arguments: optimizer, lr_lambda.
---@class optim.MultiplicativeLR: optim.LRScheduler
local MultiplicativeLR = schedule('MultiplicativeLR', {'lr_lambda'}, function(self)
  local out, fn_of = rates(self), per_group(self)
  if self.last_epoch == 0 then return out end
  for i, lr in ipairs(out) do out[i] = lr * fn_of(i)(self.last_epoch) end
  return out
end)
MultiplicativeLR._saved = {}

return require 'rtrain.namespace'('torch.optim.lr_scheduler', nil, lr_scheduler)
