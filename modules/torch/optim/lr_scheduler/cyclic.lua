-- torch/optim/lr_scheduler/cyclic.lua: schedules that increase and decrease, stepped after each batch.

local args = require 'base.args'
local LRScheduler = require('torch.optim.lr_scheduler.scheduler').LRScheduler
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

-- Returns whether the momentum of the optimizer is the first of its betas.
local function uses_beta1(self)
  local defaults = self.optimizer.defaults
  if defaults.momentum == nil and defaults.betas == nil then
    self:_raise('optimizer must support momentum or beta1 with cycle_momentum = true')
  end
  return defaults.betas ~= nil
end

local function set_momentum(self, group, momentum)
  if not self.use_beta1 then
    group.momentum = momentum
    return
  end
  -- A new list: groups may share the list of the defaults.
  local betas = {momentum}
  for i = 2, #group.betas do betas[i] = group.betas[i] end
  group.betas = betas
end

-- Sets the first momenta, and stores the bounds in the groups, as Python does.
local function start_momentum(self, base_momentums, max_momentums)
  for i, group in ipairs(self.optimizer.param_groups) do
    set_momentum(self, group, max_momentums[i])
    group.max_momentum, group.base_momentum = max_momentums[i], base_momentums[i]
  end
end

---Increases the rate from base_lr to max_lr in step_size_up steps, decreases it in step_size_down steps, and so on
---(Smith 2017, arXiv 1506.01186); the momentum changes in the opposite direction. `mode`: 'triangular', 'triangular2'
---(each cycle has half the height), 'exp_range' (the height is gamma ^ step), or scale_fn, a function of the cycle or
---(scale_mode = 'iterations') of the step. Arguments: optimizer, base_lr, max_lr (numbers, or lists with one for each
---group), {step_size_up = 2000, step_size_down, mode = 'triangular', gamma = 1, scale_fn, scale_mode = 'cycle',
---cycle_momentum = true, base_momentum = 0.8, max_momentum = 0.9, last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1, momentum = 0.9})
---local scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.25, 1.25, {step_size_up = 2})
---for _ = 1, 2 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 1.25 and math.abs(optimizer.param_groups[1].momentum - 0.8) < 1e-12)
---```
---@class optim.CyclicLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, base_lr: number|number[], max_lr: number|number[], ...: any): optim.CyclicLR
local CyclicLR = LRScheduler.define('CyclicLR', {'base_lr', 'max_lr', {'step_size_up', 2000}, {'step_size_down'},
  {'mode', 'triangular'}, {'gamma', 1}, {'scale_fn'}, {'scale_mode', 'cycle'}, {'cycle_momentum', true},
  {'base_momentum', 0.8}, {'max_momentum', 0.9}})
CyclicLR._optional = {'_scale_fn_custom'}

local MODES = {triangular = 'cycle', triangular2 = 'cycle', exp_range = 'iterations'}

local function prepare_momentum(self, bound)
  self.cycle_momentum = bound.cycle_momentum
  if not bound.cycle_momentum then return end
  self.use_beta1 = uses_beta1(self)
  self.base_momentums = self:_per_group('base_momentum', bound.base_momentum)
  self.max_momentums = self:_per_group('max_momentum', bound.max_momentum)
  if bound.last_epoch == -1 then start_momentum(self, self.base_momentums, self.max_momentums) end
end

function CyclicLR:_prepare(bound)
  if not bound.scale_fn then args.one_of('CyclicLR: mode', bound.mode, {'triangular', 'triangular2', 'exp_range'}) end
  local base_lrs, up = self:_per_group('base_lr', bound.base_lr), bound.step_size_up
  for i, group in ipairs(self.optimizer.param_groups) do
    if bound.last_epoch == -1 then Rates.set(group, base_lrs[i]) end
  end
  self.max_lrs = self:_per_group('max_lr', bound.max_lr)
  self.total_size = up + (bound.step_size_down or up)
  self.step_ratio = up / self.total_size
  self.mode, self.gamma, self._scale_fn_custom = bound.mode, bound.gamma, bound.scale_fn
  self.scale_mode = bound.scale_fn and bound.scale_mode or MODES[bound.mode]
  prepare_momentum(self, bound)
end

-- Restores the bounds: the groups may have had another initial_lr.
function CyclicLR:_finish(bound) self.base_lrs = self:_per_group('base_lr', bound.base_lr) end

---Returns the height of the cycle or step x, from 0 to 1.
---@param x number
---@return number
function CyclicLR:scale_fn(x)
  if self._scale_fn_custom then return self._scale_fn_custom(x) end
  if self.mode == 'triangular' then return 1 end
  return self.mode == 'triangular2' and 1 / 2 ^ (x - 1) or self.gamma ^ x
end

function CyclicLR:get_lr()
  local cycle = math.floor(1 + self.last_epoch / self.total_size)
  local x = 1 + self.last_epoch / self.total_size - cycle
  local height = x <= self.step_ratio and x / self.step_ratio or (x - 1) / (self.step_ratio - 1)
  local scale = self:scale_fn(self.scale_mode == 'cycle' and cycle or self.last_epoch)
  local rates = torch.list{}
  for i, group in ipairs(self.optimizer.param_groups) do
    local low = self.base_lrs[i]
    rates[i] = low + (self.max_lrs[i] - low) * height * scale
    if self.cycle_momentum then
      local high = self.max_momentums[i]
      set_momentum(self, group, high - (high - self.base_momentums[i]) * height * scale)
    end
  end
  return rates
end

---One cycle over all steps (Smith and Topin 2019, arXiv 1708.07120): from max_lr / div_factor up to max_lr, then down
---to that start / final_div_factor; the momentum changes in the opposite direction. three_phase: first down to the
---start, then to the end.
---Arguments: optimizer, max_lr (a number, or a list with one for each group), total_steps (or {epochs, steps_per_epoch}),
---{pct_start = 0.3, anneal_strategy = 'cos' or 'linear', cycle_momentum = true, base_momentum = 0.85, max_momentum = 0.95,
---div_factor = 25, final_div_factor = 1e4, three_phase = false, last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1, momentum = 0.9})
---local scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1, {total_steps = 10})
---assert(math.abs(optimizer.param_groups[1].lr - 1 / 25) < 1e-12)
---for _ = 1, 2 do optimizer:step() scheduler:step() end
---assert(math.abs(optimizer.param_groups[1].lr - 1) < 1e-12)
---```
---@class optim.OneCycleLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, max_lr: number|number[], ...: any): optim.OneCycleLR
local OneCycleLR = LRScheduler.define('OneCycleLR', {'max_lr', {'total_steps'}, {'epochs'}, {'steps_per_epoch'},
  {'pct_start', 0.3}, {'anneal_strategy', 'cos'}, {'cycle_momentum', true}, {'base_momentum', 0.85},
  {'max_momentum', 0.95}, {'div_factor', 25}, {'final_div_factor', 1e4}, {'three_phase', false}})

local function check_count(self, name, value)
  if type(value) ~= 'number' or value <= 0 or value % 1 ~= 0 then
    self:_raise('expected positive integer %s, but got %s', name, tostring(value))
  end
  return value
end

local function total_steps(self, bound)
  if bound.total_steps ~= nil then return check_count(self, 'total_steps', bound.total_steps) end
  if bound.epochs == nil or bound.steps_per_epoch == nil then
    self:_raise('give total_steps, or both epochs and steps_per_epoch')
  end
  return check_count(self, 'epochs', bound.epochs) * check_count(self, 'steps_per_epoch', bound.steps_per_epoch)
end

-- Describes a phase, which ends at a step; its rates and momenta are fields of the group.
local function phase(end_step, lrs, momentums)
  return {end_step = end_step, start_lr = lrs[1], end_lr = lrs[2], start_momentum = momentums[1],
          end_momentum = momentums[2]}
end

local function phases(steps, pct_start, three_phase)
  local up, down = {'max_momentum', 'base_momentum'}, {'base_momentum', 'max_momentum'}
  local first = phase(pct_start * steps - 1, {'initial_lr', 'max_lr'}, up)
  if not three_phase then return torch.list{first, phase(steps - 1, {'max_lr', 'min_lr'}, down)} end
  return torch.list{first, phase(2 * pct_start * steps - 2, {'max_lr', 'initial_lr'}, down),
                    phase(steps - 1, {'initial_lr', 'min_lr'}, {'max_momentum', 'max_momentum'})}
end

function OneCycleLR:_prepare(bound)
  if type(bound.pct_start) ~= 'number' or bound.pct_start < 0 or bound.pct_start > 1 then
    self:_raise('expected pct_start between 0 and 1, but got %s', tostring(bound.pct_start))
  end
  self._anneal_func_type = args.one_of('OneCycleLR: anneal_strategy', bound.anneal_strategy, {'cos', 'linear'})
  self.total_steps = total_steps(self, bound)
  self._schedule_phases = phases(self.total_steps, bound.pct_start, bound.three_phase)
  local max_lrs, is_new = self:_per_group('max_lr', bound.max_lr), bound.last_epoch == -1
  for i, group in ipairs(is_new and self.optimizer.param_groups or {}) do
    group.initial_lr = max_lrs[i] / bound.div_factor
    group.max_lr = max_lrs[i]
    group.min_lr = group.initial_lr / bound.final_div_factor
  end
  self.cycle_momentum = bound.cycle_momentum
  if not self.cycle_momentum then return end
  self.use_beta1 = uses_beta1(self)
  local base, most = self:_per_group('base_momentum', bound.base_momentum),
    self:_per_group('max_momentum', bound.max_momentum)
  if is_new then start_momentum(self, base, most) end
end

local ANNEAL = {
  cos = function(from, to, way) return to + (from - to) / 2 * (math.cos(math.pi * way) + 1) end,
  linear = function(from, to, way) return (to - from) * way + from end,
}

-- Returns the phase of a step and how much of it has passed.
local function find_phase(self, step)
  local start = 0
  for i, candidate in ipairs(self._schedule_phases) do
    if step <= candidate.end_step or i == #self._schedule_phases then
      return candidate, (step - start) / (candidate.end_step - start)
    end
    start = candidate.end_step
  end
end

function OneCycleLR:get_lr()
  local step, rates, anneal = self.last_epoch, torch.list{}, ANNEAL[self._anneal_func_type]
  if step > self.total_steps then
    self:_raise('tried to step %d times. The specified number of total steps is %d', step, self.total_steps)
  end
  local now, way = find_phase(self, step)
  for i, group in ipairs(self.optimizer.param_groups) do
    rates[i] = anneal(group[now.start_lr], group[now.end_lr], way)
    if self.cycle_momentum then
      set_momentum(self, group, anneal(group[now.start_momentum], group[now.end_momentum], way))
    end
  end
  return rates
end

return {CyclicLR = CyclicLR, OneCycleLR = OneCycleLR}
