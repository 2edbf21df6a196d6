-- torch/optim/lr_scheduler/scheduler.lua: LRScheduler: the base of all learning-rate schedules.
--
-- As in PyTorch, a schedule computes the next rate from the current rate if possible, so that several can be chained
-- and a rate that the script changed is respected.

local args = require 'base.args'
local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'
local warnings = require 'base.warnings'

---Base of the schedules. A custom schedule extends it, ends its `init` with `LRScheduler.init(self, optimizer,
---last_epoch)` and defines `get_lr()`, which returns a list with one rate for each group. Call `scheduler:step()` after
---the optimizer's steps of an epoch.
---
---```lua
---local torch = require 'torch'
---local LRScheduler = torch.optim.lr_scheduler.LRScheduler
---local Halves = LRScheduler:extend 'Halves'
---function Halves:init(optimizer) LRScheduler.init(self, optimizer) end
---function Halves:get_lr()
---  local rates = {}
---  for i, base in ipairs(self.base_lrs) do rates[i] = base / 2 ^ self.last_epoch end
---  return rates
---end
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = Halves(optimizer)
---optimizer:step()
---scheduler:step()
---assert(scheduler:get_last_lr()[1] == 0.5)
---```
---@class optim.LRScheduler
---@field optimizer optim.Optimizer
---@field base_lrs number[] the rates at the beginning
---@field last_epoch integer number of calls of step
local LRScheduler = class('LRScheduler')

---Raises code 'argument' with the schedule's name before the text.
---@param text string
---@param ... any
function LRScheduler:_raise(text, ...)
  errors.raise('argument', class.of(self).__name .. ': ' .. text:format(...))
end

---Raises an error unless the value is an optimizer.
function LRScheduler:_check_optimizer(optimizer)
  if not class.is(optimizer, torch.optim.Optimizer) then self:_raise('the first argument is an optimizer') end
end

-- Records the optimizer's steps: the schedule warns if its second step comes before the optimizer's first.
local function watch_steps(optimizer)
  if rawget(optimizer, '_watches_steps') then return end
  local step = optimizer.step
  optimizer._watches_steps = true
  optimizer.step = class.checked('step', function(self, ...)
    self._opt_called = true
    return step(self, ...)
  end)
end

---@param optimizer optim.Optimizer
---@param last_epoch? integer -1: starts at the beginning; otherwise the groups must have `initial_lr`
function LRScheduler:init(optimizer, last_epoch)
  last_epoch = last_epoch or -1
  self:_check_optimizer(optimizer)
  self.optimizer, self.base_lrs = optimizer, torch.list{}
  for i, group in ipairs(optimizer.param_groups) do
    if last_epoch == -1 and group.initial_lr == nil then group.initial_lr = Rates.number(group.lr) end
    if group.initial_lr == nil then
      self:_raise('param_groups[%d] has no initial_lr, which resuming with last_epoch = %d needs: load the '
        .. "optimizer's state_dict first", i, last_epoch)
    end
    self.base_lrs[i] = Rates.number(group.initial_lr)
  end
  self.last_epoch = last_epoch
  watch_steps(optimizer)
  self:_initial_step()
end

-- Sets the first rates, without the check of the optimizer's steps.
function LRScheduler:_initial_step()
  self._step_count, self._is_initial = 0, true
  self:step()
  self._is_initial = false
end

local POSITIVE = {step_size = true, T_max = true}

---Stores the numeric arguments in fields.
---@param bound table the bound arguments
---@param names string[]
function LRScheduler:_take_numbers(bound, names)
  for _, name in ipairs(names) do
    local value = bound[name]
    if type(value) ~= 'number' or POSITIVE[name] and value <= 0 then
      self:_raise('%s is a %snumber, got %s', name, POSITIVE[name] and 'positive ' or '', tostring(value))
    end
    self[name] = value
  end
end

---Returns a field of all groups: `lr`, `initial_lr`.
---@param name string
---@return number[]
function LRScheduler:_of_groups(name)
  local out = torch.list{}
  for i, group in ipairs(self.optimizer.param_groups) do out[i] = Rates.number(group[name]) end
  return out
end

---Returns every group's rate multiplied by the factor.
---@param factor number
---@return number[]
function LRScheduler:_scaled(factor)
  local out = self:_of_groups('lr')
  for i, lr in ipairs(out) do out[i] = lr * factor end
  return out
end

---Returns a value for each group, given one for all or a list.
---@param name string the parameter, for the message
---@param value any
---@return any[]
function LRScheduler:_per_group(name, value)
  local count, out = #self.optimizer.param_groups, torch.list{}
  if type(value) == 'table' then
    if #value ~= count then
      self:_raise('%s must have the same length as optimizer.param_groups: it has %d values, param_groups %d', name,
        #value, count)
    end
    for i = 1, count do out[i] = value[i] end
    return out
  end
  for i = 1, count do out[i] = value end
  return out
end

---Returns the rates of the current epoch, one for each group; a schedule defines it.
---@return number[]
function LRScheduler:get_lr() self:_raise('a schedule of your own defines get_lr()') end

local ORDER_WARNING = 'lr_scheduler.step() was called before optimizer.step(): call optimizer:step() first, or the '
  .. 'schedule skips its first value'

function LRScheduler:_warn_order()
  if self._step_count == 1 and not self.optimizer._opt_called then warnings.warn(ORDER_WARNING) end
end

-- Sets the rates of `epoch`, by default the next one.
function LRScheduler:_update_lr(epoch)
  local rates
  if epoch == nil then
    self.last_epoch = self.last_epoch + 1
    rates = self:get_lr()
  else
    self.last_epoch = epoch
    rates = self._get_closed_form_lr and self:_get_closed_form_lr() or self:get_lr()
  end
  self:_set_rates(rates)
end

-- Raises an error in a captured step: a CUDA graph's replay runs no Lua, and would not set the rate.
function LRScheduler:_check_graph()
  if not capture.current then return end
  capture.current:refuse(('%s:step() is called inside of the captured step, where only the first calls would set a rate: '
    .. 'call it behind the step'):format(class.of(self).__name))
end

function LRScheduler:_set_rates(rates)
  self:_check_graph()
  local count = #self.optimizer.param_groups
  if #rates ~= count then
    self:_raise('there are %d rates for %d param_groups: make the schedule after the last add_param_group', #rates, count)
  end
  for i, group in ipairs(self.optimizer.param_groups) do Rates.set(group, rates[i]) end
  self._last_lr = self:_of_groups('lr')
end

---Advances to the next epoch and sets the learning rates. Warns once if the optimizer has made no step yet.
---@param epoch? integer the epoch to go to (discouraged, as in PyTorch)
function LRScheduler:step(epoch)
  if virtual_ranks.is_held() then return end
  self:_warn_order()
  self._step_count = self._step_count + 1
  if epoch ~= nil then
    if type(epoch) ~= 'number' then self:_raise('step takes no argument but an epoch') end
    warnings.warn('the epoch parameter of scheduler.step() is not needed: call scheduler:step()')
  end
  self:_update_lr(epoch)
end

---@return number[] the rates in use, one for each group
function LRScheduler:get_last_lr() return self._last_lr end

-- Fields that are not saved: the constructor makes them.
local NOT_SAVED = {optimizer = true, lr_lambdas = true, _schedulers = true, anneal_func = true}

-- Returns a field as Python saves it: a function becomes None.
local function saved(value)
  if type(value) == 'function' then return torch.none end
  return value
end

---Returns the state for a resumed run, with the fields of Python's state; functions are None.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local function schedule() return torch.optim.lr_scheduler.StepLR(optimizer, 1, {gamma = 0.5}) end
---local first, second = schedule(), schedule()
---optimizer:step()
---first:step()
---second:load_state_dict(first:state_dict())
---assert(second.last_epoch == 1)  -- the rate itself is in the optimizer's state_dict
---```
---@return table state base.ordered map
function LRScheduler:state_dict()
  local names, state = {}, ordered.new()
  for name in next, self do
    if type(name) == 'string' and not NOT_SAVED[name] then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do state[name] = saved(self[name]) end
  for _, name in ipairs(self._optional or {}) do
    if state[name] == nil then state[name] = torch.none end
  end
  -- Python's flags of a call in progress.
  if self._step_count then state._get_lr_called_within_step, state._is_initial = false, false end
  if self.lr_lambdas then
    state.lr_lambdas = torch.list{}
    for i = 1, #self.lr_lambdas do state.lr_lambdas[i] = torch.none end
  end
  if self._schedulers then
    state._schedulers = torch.list{}
    for i, scheduler in ipairs(self._schedulers) do state._schedulers[i] = scheduler:state_dict() end
  end
  return state
end

---Loads a result of state_dict, here or in Python. The optimizer loads its own state, which contains the present rates.
---@param state table
function LRScheduler:load_state_dict(state)
  if type(state) ~= 'table' then self:_raise('load_state_dict: expected a table, got %s', type(state)) end
  local keys = {}
  for name in next, state do keys[#keys + 1] = name end
  for _, name in ipairs(keys) do
    local value = state[name]
    if not NOT_SAVED[name] and type(self[name]) ~= 'function' then
      if value == torch.none then value = nil end
      self[name] = value
    end
  end
  for i, scheduler in ipairs(state._schedulers and self._schedulers or {}) do
    scheduler:load_state_dict(state._schedulers[i])
  end
end

---Makes a schedule whose numeric parameters become fields of the same names before the first step.
---@param name string
---@param parameters (string|table)[] in the form of base.args, between `optimizer` and `last_epoch`
---@return table class which may define `_prepare(bound)` for other parameters, and `_finish(bound)`
function LRScheduler.define(name, parameters)
  local Schedule = LRScheduler:extend(name)
  local all, fields = {'optimizer'}, {}
  for i, parameter in ipairs(parameters) do
    all[i + 1], fields[i] = parameter, type(parameter) == 'table' and parameter[1] or parameter
  end
  all[#all + 1] = {'last_epoch', -1}
  local signature = args.signature(name, all)

  function Schedule:init(...)
    local bound = signature:bind(...)
    self:_check_optimizer(bound.optimizer)
    self.optimizer = bound.optimizer
    if self._prepare then self:_prepare(bound) else self:_take_numbers(bound, fields) end
    LRScheduler.init(self, bound.optimizer, bound.last_epoch)
    if self._finish then self:_finish(bound) end
  end

  return Schedule
end

return {LRScheduler = LRScheduler}
