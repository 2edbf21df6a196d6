-- torch/cuda/capture.lua: the state of a CUDA graph in addition to kernels: optimizers, loss scalers, a
-- DistributedDataParallel.
--
-- A replay runs no Lua. A value that a step reads from Lua must therefore be on the device (learning rates), or keep
-- its value of the capture (the other options). While a step is warmed up or captured, `capture.current` is the Capture
-- in which the participants register; at all other times it is nil. Nothing here needs a device.

local class = require 'base.class'
local errors = require 'base.errors'

---@class torch.cuda.capture
---@field current? torch.cuda.Capture
---@field watch_module? fun(module: nn.Module) called with each module that is called, while train.compile records
---@field has_graphs boolean a graph was captured in this process: gradients of CUDA tensors may be in its memory
---@field num_assignments integer to fields of modules, in this process
local capture = {has_graphs = false, num_assignments = 0}

-- Counts how often the connections between ranks were made again.
local num_connections = 0

---Called when the connections between ranks are closed: a graph with collectives can no longer be replayed.
function capture.forget_connections() num_connections = num_connections + 1 end

---@class torch.cuda.Capture
---@field is_capturing boolean false while the step is warmed up
---@field has_ddp boolean
---@field refusal? string why something in the warm-up cannot be captured
---@field optimizers optim.Optimizer[] in the order of their first steps
---@field scalers torch.amp.GradScaler[]
local Capture = class 'Capture'
capture.Capture = Capture

function Capture:init()
  self.is_capturing, self.has_ddp = false, false
  self.optimizers, self.scalers, self._seen = {}, {}, {}
end

local function finish(before, ...)
  capture.current = before
  return ...
end

---Calls fn(…); its participants register in this Capture.
---@param fn function
---@param ... any
---@return boolean ok
---@return any ... the results of fn, or its error
function Capture:watch(fn, ...)
  local before = capture.current
  capture.current = self
  return finish(before, xpcall(fn, errors.wrap, ...))
end

local function finish_capture(self, ...)
  self.is_capturing = false
  return ...
end

---As `watch`, for the function whose work is being captured.
---@param fn function
---@param ... any
---@return boolean ok
---@return any ... the results of fn, or its error
function Capture:watch_capture(fn, ...)
  self.is_capturing = true
  return finish_capture(self, self:watch(fn, ...))
end

---Returns whether work is being captured now.
---@return boolean
function capture.is_capturing() return capture.current ~= nil and capture.current.is_capturing end

---Called by a participant that cannot be in a graph. In a capture it raises code 'unsupported'. In a warm-up the step
---continues, since its first half has been done.
---@param refusal string
function Capture:refuse(refusal)
  if self.is_capturing then errors.raise('unsupported', refusal) end
  self.refusal = self.refusal or refusal
end

---Called by a DistributedDataParallel that runs forward.
---@param backend string of its process group
---@return boolean captures a graph will hold the model: it prepares itself
function Capture:add_ddp(backend)
  self.has_ddp = true
  if not backend:find('nccl', 1, true) then
    self:refuse(("DistributedDataParallel averages gradients over '%s', which a CUDA graph cannot hold: it takes backend "
      .. "'nccl'"):format(backend))
  end
  return true
end

---Called by an optimizer that steps.
---@param optimizer optim.Optimizer
function Capture:add_optimizer(optimizer)
  if self._seen[optimizer] then return end
  local refusal = optimizer:_make_capturable(self.is_capturing)
  if refusal then return self:refuse(refusal) end
  self._seen[optimizer] = true
  self.optimizers[#self.optimizers + 1] = optimizer
end

---Called before each effect of an object in the step: train.compile needs it.
function Capture:add_participant() end

---Called by an optimizer that makes or arranges its state: later steps do not.
function Capture:note_new_state() self.has_new_state = true end

---Called by a GradScaler that scales.
---@param scaler torch.amp.GradScaler
function Capture:add_scaler(scaler)
  if self._seen[scaler] then return end
  self._seen[scaler] = true
  self.scalers[#self.scalers + 1] = scaler
end

-- Returns the present value of an option: lists are copied.
local function copied(value) return type(value) == 'table' and {unpack(value)} or value end

local function is_same(now, given)
  if type(now) ~= 'table' or type(given) ~= 'table' then return now == given end
  for i = 1, math.max(#now, #given) do
    if now[i] ~= given[i] then return false end
  end
  return true
end

local function text_of(value)
  if type(value) ~= 'table' then return tostring(value) end
  local parts = {}
  for i, item in ipairs(value) do parts[i] = tostring(item) end
  return '(' .. table.concat(parts, ', ') .. ')'
end

-- lr is on the device; initial_lr and similar options belong to the schedulers.
local function options_of(optimizer, group)
  local values, names = {}, {}
  for _, name in ipairs(optimizer._options and optimizer._options.keys or {}) do
    if name ~= 'lr' then
      names[#names + 1] = name
      values[name] = copied(group[name])
    end
  end
  return {names = names, values = values, count = #group.params}
end

---Called when the capture is complete: records the properties that the graph treats as constant.
function Capture:settle()
  self._given = {}
  self._num_connections = num_connections
  for i, optimizer in ipairs(self.optimizers) do
    local groups = {}
    for k, group in ipairs(optimizer.param_groups) do groups[k] = options_of(optimizer, group) end
    self._given[i] = {state = optimizer.state, groups = groups}
  end
end

---Returns an option of the group that differs from what a capture or a recording found.
---@param group table of an optimizer
---@param given {names: string[], values: table} the options that are compared
---@return string|nil name
function capture.changed_option(group, given)
  for _, name in ipairs(given.names) do
    if not is_same(group[name], given.values[name]) then return name end
  end
end

local function changed_group(group, given, k)
  if #group.params ~= given.count then return ('group %d has other parameters'):format(k) end
  local name = capture.changed_option(group, given)
  if not name then return nil end
  return ('%s of group %d was %s in the capture and is %s now'):format(name, k, text_of(given.values[name]),
    text_of(group[name]))
end

local function changed_optimizer(optimizer, given)
  if optimizer.state ~= given.state then return 'its state was loaded after the capture' end
  if #optimizer.param_groups ~= #given.groups then return 'it has other parameter groups' end
  for k, group in ipairs(optimizer.param_groups) do
    local change = changed_group(group, given.groups[k], k)
    if change then return change end
  end
end

---Returns whether the ranks were connected again after the capture, so that its collectives lead nowhere.
---@return boolean
function Capture:is_disconnected() return self._num_connections ~= num_connections end

---Returns a property that the graph treats as constant and that has changed.
---@return string|nil change nil: a replay is equivalent to a step
function Capture:change()
  if self:is_disconnected() then return 'the ranks were connected again after a loss' end
  for i, optimizer in ipairs(self.optimizers) do
    local change = changed_optimizer(optimizer, self._given[i])
    if change then return ('%s: %s'):format(class.of(optimizer).__name, change) end
  end
end

---Copies changed learning rates to the device, before a capture or a replay.
function Capture:write_rates()
  for _, optimizer in ipairs(self.optimizers) do optimizer._rates:write() end
end

---Called after a capture that failed in the middle of a step: the device has executed no part of it.
function Capture:abandon()
  for _, scaler in ipairs(self.scalers) do scaler:_forget_step() end
end

return capture
