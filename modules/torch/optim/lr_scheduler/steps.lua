-- torch/optim/lr_scheduler/steps.lua: schedules that multiply the rate at certain epochs.

local LRScheduler = require('torch.optim.lr_scheduler.scheduler').LRScheduler
local torch = require 'torch'

-- Returns a rate for each group computed from its base rate: fn(base).
local function from_base(self, fn)
  local out = torch.list{}
  for i, base in ipairs(self.base_lrs) do out[i] = fn(base) end
  return out
end

---Multiplies the rate by gamma every step_size epochs. Arguments: optimizer, step_size, {gamma = 0.1, last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, {gamma = 0.5})
---for _ = 1, 4 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 0.25)
---```
---@class optim.StepLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, step_size: integer, ...: any): optim.StepLR
local StepLR = LRScheduler.define('StepLR', {'step_size', {'gamma', 0.1}})

function StepLR:get_lr()
  local boundary = self.last_epoch ~= 0 and self.last_epoch % self.step_size == 0
  return boundary and self:_scaled(self.gamma) or self:_of_groups('lr')
end

function StepLR:_get_closed_form_lr()
  return from_base(self, function(base) return base * self.gamma ^ math.floor(self.last_epoch / self.step_size) end)
end

---Multiplies the rate by gamma at each milestone of a list of epochs. Arguments: optimizer, milestones, {gamma = 0.1,
---last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, {1, 3}, {gamma = 0.5})
---for _ = 1, 4 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 0.25)
---```
---@class optim.MultiStepLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, milestones: integer[], ...: any): optim.MultiStepLR
local MultiStepLR = LRScheduler.define('MultiStepLR', {'milestones', {'gamma', 0.1}})

-- Stores epoch → how often it is in the list, as Python does.
function MultiStepLR:_prepare(bound)
  if type(bound.milestones) ~= 'table' then self:_raise('milestones is a list of epochs') end
  self:_take_numbers(bound, {'gamma'})
  self.milestones = setmetatable({}, torch._intmap_meta)
  for _, epoch in ipairs(bound.milestones) do self.milestones[epoch] = (self.milestones[epoch] or 0) + 1 end
end

function MultiStepLR:get_lr()
  local times = self.milestones[self.last_epoch]
  return times and self:_scaled(self.gamma ^ times) or self:_of_groups('lr')
end

function MultiStepLR:_get_closed_form_lr()
  local passed = 0
  -- The order is irrelevant for a sum.
  for epoch, times in next, self.milestones do
    if epoch <= self.last_epoch then passed = passed + times end
  end
  return from_base(self, function(base) return base * self.gamma ^ passed end)
end

---Multiplies the rate by gamma every epoch. Arguments: optimizer, gamma, {last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
---for _ = 1, 2 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 0.25)
---```
---@class optim.ExponentialLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, gamma: number, ...: any): optim.ExponentialLR
local ExponentialLR = LRScheduler.define('ExponentialLR', {'gamma'})

function ExponentialLR:get_lr() return self._is_initial and self:_of_groups('lr') or self:_scaled(self.gamma) end

function ExponentialLR:_get_closed_form_lr()
  return from_base(self, function(base) return base * self.gamma ^ self.last_epoch end)
end

---Uses the first rate times factor for total_iters epochs, then the first rate. Arguments: optimizer, {factor = 1/3,
---total_iters = 5, last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, {factor = 0.5, total_iters = 2})
---assert(optimizer.param_groups[1].lr == 0.5)
---for _ = 1, 2 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 1)
---```
---@class optim.ConstantLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, factor?: number, ...: any): optim.ConstantLR
local ConstantLR = LRScheduler.define('ConstantLR', {{'factor', 1 / 3}, {'total_iters', 5}})

function ConstantLR:_prepare(bound)
  self:_take_numbers(bound, {'factor', 'total_iters'})
  if self.factor > 1 or self.factor < 0 then self:_raise('factor is from 0 to 1, got %s', tostring(self.factor)) end
end

function ConstantLR:get_lr()
  if self.last_epoch == 0 then return self:_scaled(self.factor) end
  return self.last_epoch == self.total_iters and self:_scaled(1 / self.factor) or self:_of_groups('lr')
end

function ConstantLR:_get_closed_form_lr()
  local factor = self.last_epoch >= self.total_iters and self.factor + (1 - self.factor) or self.factor
  return from_base(self, function(base) return base * factor end)
end

---Changes the rate linearly from start_factor to end_factor, times the first rate, over total_iters epochs. Arguments:
---optimizer, {start_factor = 1/3, end_factor = 1, total_iters = 5, last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, {start_factor = 0.5, total_iters = 2})
---optimizer:step()
---scheduler:step()
---assert(optimizer.param_groups[1].lr == 0.75)
---```
---@class optim.LinearLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, start_factor?: number, ...: any): optim.LinearLR
local LinearLR = LRScheduler.define('LinearLR', {{'start_factor', 1 / 3}, {'end_factor', 1}, {'total_iters', 5}})

function LinearLR:_prepare(bound)
  self:_take_numbers(bound, {'start_factor', 'end_factor', 'total_iters'})
  if self.start_factor > 1 or self.start_factor <= 0 then
    self:_raise('start_factor is above 0 and at most 1, got %s', tostring(self.start_factor))
  end
  if self.end_factor > 1 or self.end_factor < 0 then
    self:_raise('end_factor is from 0 to 1, got %s', tostring(self.end_factor))
  end
end

function LinearLR:get_lr()
  if self.last_epoch == 0 then return self:_scaled(self.start_factor) end
  if self._is_initial or self.last_epoch > self.total_iters then return self:_of_groups('lr') end
  local rise = self.end_factor - self.start_factor
  return self:_scaled(1 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))
end

function LinearLR:_get_closed_form_lr()
  local way = math.min(self.total_iters, self.last_epoch) / self.total_iters
  local rise = self.end_factor - self.start_factor
  return from_base(self, function(base) return base * (self.start_factor + rise * way) end)
end

---Uses the first rate times (1 - epoch / total_iters) ^ power. Arguments: optimizer, {total_iters = 5, power = 1,
---last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, {total_iters = 4, power = 2})
---for _ = 1, 2 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 0.25)
---```
---@class optim.PolynomialLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, total_iters?: integer, ...: any): optim.PolynomialLR
local PolynomialLR = LRScheduler.define('PolynomialLR', {{'total_iters', 5}, {'power', 1}})

function PolynomialLR:get_lr()
  if self._is_initial or self.last_epoch > self.total_iters then return self:_of_groups('lr') end
  local now, before = 1 - self.last_epoch / self.total_iters, 1 - (self.last_epoch - 1) / self.total_iters
  return self:_scaled((now / before) ^ self.power)
end

function PolynomialLR:_get_closed_form_lr()
  local left = 1 - math.min(self.total_iters, self.last_epoch) / self.total_iters
  return from_base(self, function(base) return base * left ^ self.power end)
end

return {StepLR = StepLR, MultiStepLR = MultiStepLR, ExponentialLR = ExponentialLR, ConstantLR = ConstantLR,
        LinearLR = LinearLR, PolynomialLR = PolynomialLR}
