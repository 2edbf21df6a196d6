-- torch/compile/watch.lua: the optimizers and modules of a step that is recorded, and what a plan takes as given of
-- them.
--
-- A plan runs no Lua. Options of optimizers and the training flags of modules must therefore be as in the recording. The
-- learning rates of the fused optimizers are arguments of the plan.

local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local host_update = require 'torch.optim.host_update'
local recording = require('torch._C').recording
local Rates = require 'torch.optim.rates'
local Variables = require 'torch.compile.variables'

---@class torch.compile.Watch: torch.cuda.Capture
local Watch = capture.Capture:extend 'Watch'

---@param step function
function Watch:init(step)
  capture.Capture.init(self)
  self._variables = Variables(step)
  self._num_hooks = {}
  self._modules, self._of_module, self._rated, self._of_group, self._ddps, self._participants = {}, {}, {}, {}, {}, {}
end

---Tells the recording why the step cannot be recorded: the first reason counts.
---@param refusal string
function Watch:refuse(refusal) recording.refuse(refusal) end

---Called by a DistributedDataParallel that runs forward.
---@param _ string
---@param ddp DistributedDataParallel
---@return boolean captures
function Watch:add_ddp(_, ddp)
  if self._seen[ddp] then return false end
  self._seen[ddp] = true
  self._ddps[#self._ddps + 1] = ddp
  return false
end

---What a plan takes as given of an object whose methods are effects of the step.
---@class torch.compile.Participant
---@field settle fun(self: torch.compile.Participant) the recording is complete
---@field change fun(self: torch.compile.Participant): string|nil what the plan takes as given and has changed
---@field follow fun(self: torch.compile.Participant) the plan has run
---@field abandon fun(self: torch.compile.Participant) the plan has raised an error

---Called before each effect of such an object.
---@param object table
---@param recorded fun(object: table): torch.compile.Participant
function Watch:add_participant(object, recorded)
  if self._seen[object] then return end
  self._seen[object] = true
  self._participants[#self._participants + 1] = recorded(object)
end

---Called by a GradScaler that scales.
function Watch:add_scaler() self:refuse 'a GradScaler reads from the device whether gradients are finite' end

---Called by an optimizer that steps.
---@param optimizer optim.Optimizer
function Watch:add_optimizer(optimizer)
  if self._seen[optimizer] then return end
  self._seen[optimizer] = true
  self.optimizers[#self.optimizers + 1] = optimizer
end

---Called by an optimizer whose next operator takes the learning rate of the group as a number.
---@param group table
function Watch:add_rate(group)
  if not self._of_group[group] then
    self._rated[#self._rated + 1] = group
    self._of_group[group] = #self._rated
  end
  recording.add_rate(self._of_group[group] - 1)
end

local function num_hooks(module)
  local hooks = rawget(module, '_fields')._hooks
  return hooks and #hooks.before + #hooks.after + #hooks.backward_before + #hooks.backward_after or 0
end

---Called by a module that is called.
---@param module nn.Module
function Watch:add_module(module)
  local given = self._of_module[module]
  if not given then
    given = {module = module}
    self._of_module[module], self._modules[#self._modules + 1] = given, given
    self._variables:add_module(module)
  end
  given.training, given.num_hooks = rawget(module, 'training'), num_hooks(module)
end

---Calls fn(…), whose participants register here.
---@param fn function
---@param ... any
---@return boolean ok
---@return any ... the results of fn, or its error
function Watch:watch(fn, ...)
  local before = capture.watch_module
  capture.watch_module = function(module) self:add_module(module) end
  local function finish(...)
    capture.watch_module = before
    return ...
  end
  return finish(capture.Capture.watch(self, fn, ...))
end

-- Calls fn(hook) for the hooks of an optimizer's step.
local function each_hook(optimizer, fn, ...)
  local hooks = optimizer._hooks
  if not hooks then return end
  for _, hook in ipairs(hooks.step_pre or {}) do fn(hook, ...) end
  for _, hook in ipairs(hooks.step_post or {}) do fn(hook, ...) end
end

local function add_hook(hook, list) list[#list + 1] = hook end

local function count_hook(hook, list, counts)
  counts.all = counts.all + 1
  if list[counts.all] == hook then counts.same = counts.same + 1 end
end

---Called when the recording is complete: keeps what the plan takes as given.
function Watch:settle()
  capture.Capture.settle(self)
  self._given_exchanges = {}
  for i, ddp in ipairs(self._ddps) do self._given_exchanges[i] = {ddp:_exchange()} end
  for _, each in ipairs(self._participants) do each:settle() end
  self._given_hooks = {}
  for i, optimizer in ipairs(self.optimizers) do
    self._given_hooks[i] = {}
    each_hook(optimizer, add_hook, self._given_hooks[i])
    host_update.settle(optimizer, self._given[i].groups, self._of_group)
  end
end

local function update_change(self)
  for i, optimizer in ipairs(self.optimizers) do
    local change = host_update.change(optimizer, self._given[i].groups)
    if change then return ('%s: %s'):format(class.of(optimizer).__name, change) end
  end
end

-- Hooks run in a recording. A plan has what they did then.
local counts = {}
local function hook_change(self)
  for i, optimizer in ipairs(self.optimizers) do
    counts.all, counts.same = 0, 0
    each_hook(optimizer, count_hook, self._given_hooks[i], counts)
    if counts.all ~= #self._given_hooks[i] or counts.same ~= counts.all then
      return ('a %s has other hooks now'):format(class.of(optimizer).__name)
    end
  end
end

local function exchange_change(self)
  for i, ddp in ipairs(self._ddps) do
    local given, reducer, num_builds, sync = self._given_exchanges[i], ddp:_exchange()
    if given[1] ~= reducer or given[2] ~= num_builds then return 'a DistributedDataParallel has other buckets now' end
    if given[3] ~= sync then return 'a DistributedDataParallel is ' .. (sync and 'outside of' or 'inside') .. ' no_sync now' end
  end
  for _, each in ipairs(self._participants) do
    local change = each:change()
    if change then return change end
  end
end

---Returns how modules differ from the recording: in training or evaluation mode, in hooks.
---@return string|nil change
function Watch:module_change()
  for _, given in ipairs(self._modules) do
    local module = given.module
    if rawget(module, 'training') ~= given.training then
      return ('a %s is in %s mode now'):format(class.of(module).__name, given.training and 'evaluation' or 'training')
    end
    if num_hooks(module) ~= given.num_hooks then return ('a %s has other hooks now'):format(class.of(module).__name) end
  end
end

---Returns which variable around the step has another value than at the begin of the recorded call.
---@return string|nil change
function Watch:variable_change() return self._variables:change() end

---Returns what the plan takes as given and has changed.
---@return string|nil change
function Watch:change()
  local change = self:module_change() or self:variable_change()
  if change then return change end
  return capture.Capture.change(self) or hook_change(self) or exchange_change(self) or update_change(self)
end

---Returns the learning rates that the plan takes.
---@return number[]
function Watch:rates()
  local out = {}
  for i, group in ipairs(self._rated) do out[i] = Rates.number(group.lr) end
  return out
end

---Called when the plan has run.
function Watch:follow()
  for _, each in ipairs(self._participants) do each:follow() end
end

---Called after an error in the plan.
function Watch:abandon()
  for _, each in ipairs(self._participants) do each:abandon() end
end

---Copies changed learning rates of capturable optimizers to their tensors.
function Watch:write_rates()
  for _, optimizer in ipairs(self.optimizers) do
    if optimizer._rates then optimizer._rates:write() end
  end
end

return Watch
