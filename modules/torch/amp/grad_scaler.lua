-- torch/amp/grad_scaler.lua: GradScaler: scales the loss, so that small gradients in float16 do not vanish.

local args = require 'base.args'
local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'
local warnings = require 'base.warnings'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

---Scales the loss before backward, and unscales the gradients before the optimizer's step. The step is skipped if they
---contain an infinity or a NaN. The scale is then halved; it is doubled after growth_interval steps without one.
---Arguments: device ('cuda', or 'cpu'), {init_scale = 65536, growth_factor = 2, backoff_factor = 0.5, growth_interval =
---2000, enabled = true}. PyTorch equivalent: torch.amp.GradScaler.
---
---```lua
---local torch = require 'torch'
---local model = torch.nn.Linear(4, 1)
---local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
---local scaler = torch.amp.GradScaler('cpu', {init_scale = 1024})
---local x = torch.ones(2, 4)
---for _ = 1, 2 do
---  optimizer:zero_grad()
---  local loss = torch.autocast('cpu', {dtype = 'float16'}, function() return model(x):pow(2):mean() end)
---  scaler:scale(loss):backward()
---  scaler:unscale_(optimizer)  -- only to look at the gradients or clip them
---  torch.nn.utils.clip_grad_norm_(model:parameters(), 1)
---  scaler:step(optimizer)
---  scaler:update()
---end
---assert(scaler:get_scale() == 1024)
---```
---@class torch.amp.GradScaler
---@overload fun(device?: string, ...: any): torch.amp.GradScaler
local GradScaler = class('GradScaler')

local SIGNATURE = args.signature('GradScaler', {{'device', 'cuda'}, {'init_scale', 65536}, {'growth_factor', 2},
  {'backoff_factor', 0.5}, {'growth_interval', 2000}, {'enabled', true}})

local function raise(text, ...) errors.raise('argument', 'GradScaler: ' .. text:format(...)) end

---@param ... any see above
function GradScaler:init(...)
  local bound = SIGNATURE:bind(...)
  self._device = args.one_of('GradScaler: device', bound.device, {'cuda', 'cpu'})
  self._enabled = bound.enabled
  if self._enabled and self._device == 'cuda' and not torch.cuda.is_available() then
    warnings.warn('GradScaler is enabled, but CUDA is not available: it is disabled')
    self._enabled = false
  end
  if not self._enabled then return end
  if bound.growth_factor <= 1 then raise('the growth factor must be > 1, got %s', tostring(bound.growth_factor)) end
  if bound.backoff_factor >= 1 then raise('the backoff factor must be < 1, got %s', tostring(bound.backoff_factor)) end
  self._init_scale, self._init_growth_tracker = bound.init_scale, 0
  self._growth_factor, self._backoff_factor = bound.growth_factor, bound.backoff_factor
  self._growth_interval, self._states = bound.growth_interval, {}
end

local function scalar(value, dtype, device) return torch.full({}, value, {dtype = dtype, device = device}) end

-- Returns the scale as a tensor, which is made when the device of the first loss is known.
local function scale_tensor(self, device)
  if not self._scale then
    self._scale = scalar(self._init_scale, 'float32', device)
    self._growth_tracker = scalar(self._init_growth_tracker, 'int32', device)
  end
  return self._scale
end

local function check_scaled(self, name)
  if not self._scale then raise('%s came before scale(loss)', name) end
end

local function scaled(self, value)
  if torch.is_tensor(value) then return value * scale_tensor(self, value.device):to(value.device) end
  if type(value) ~= 'table' then raise('scale takes a Tensor or a list of Tensors, got %s', type(value)) end
  local out = {}
  for i, item in ipairs(value) do out[i] = scaled(self, item) end
  return out
end

---Returns the loss (or each tensor of a list) times the scale.
---@param outputs torch.Tensor|torch.Tensor[]
---@return torch.Tensor|torch.Tensor[]
function GradScaler:scale(outputs)
  if not self._enabled then return outputs end
  if capture.current then capture.current:add_scaler(self) end
  return scaled(self, outputs)
end

-- Returns the state of an optimizer since the last update: its stage and, by device, whether an infinity was found.
local function state_of(self, optimizer)
  local state = self._states[optimizer]
  if not state then
    state = {stage = 'ready', found = ordered.new()}
    self._states[optimizer] = state
    self._states[#self._states + 1] = state
  end
  return state
end

local function gradient_of(param, allow_float16)
  local grad = param.grad
  if grad == nil then return nil end
  if not allow_float16 and grad.dtype == 'float16' then raise('attempting to unscale FP16 gradients') end
  if not grad.is_sparse then return grad end
  -- Duplicate indices would hide an overflow of their sum.
  if grad.dtype == 'float16' then
    grad = grad:coalesce()
    param.grad = grad
  end
  return grad:_values()
end

-- Returns the gradients by device and dtype.
local function gradients_of(optimizer, allow_float16)
  local kinds = ordered.new()
  for _, group in ipairs(optimizer.param_groups) do
    for _, param in ipairs(group.params) do
      local grad = gradient_of(param, allow_float16)
      if grad then
        local kind = grad.device .. ' ' .. grad.dtype
        kinds[kind] = kinds[kind] or {device = grad.device}
        table.insert(kinds[kind], grad)
      end
    end
  end
  return kinds
end

-- Multiplies the gradients; returns, by device, a tensor that is 1 if a gradient was not finite.
local function unscale(self, optimizer, inverse, allow_float16)
  local found = ordered.new()
  for _, grads in ordered.items(gradients_of(optimizer, allow_float16)) do
    local device = grads.device
    found[device] = found[device] or scalar(0, 'float32', device)
    torch.no_grad(torch._amp_foreach_non_finite_check_and_unscale_, {unpack(grads)}, found[device], inverse:to(device))
    -- Of sharded gradients each rank has seen its rows, and all ranks make the step or none.
    for _, shard in ipairs(shards.divisions(grads)) do shards.all_reduce(found[device], 'max', shard) end
  end
  return found
end

---Divides the optimizer's gradients by the scale, before the script reads or clips them. Otherwise `step` does it.
---@param optimizer optim.Optimizer
---Raises code 'argument' for a second call since the last update, or for a call after step.
function GradScaler:unscale_(optimizer)
  if not self._enabled or virtual_ranks.is_held() then return end
  check_scaled(self, 'unscale_')
  local state = state_of(self, optimizer)
  if state.stage == 'unscaled' then
    raise('unscale_() has already been called on this optimizer since the last update()')
  elseif state.stage == 'stepped' then
    raise('unscale_() is being called after step()')
  end
  state.found = unscale(self, optimizer, self._scale:double():reciprocal():float(), false)
  state.stage = 'unscaled'
end

local function total_found(state, device)
  local sum = scalar(0, 'float32', device)
  for _, found in ordered.items(state.found) do sum = sum + found:to(device) end
  return sum
end

-- The optimizer's kernel divides by the scale and skips the step itself.
local function fused_step(self, optimizer, state)
  if state.stage == 'ready' then
    state.found = unscale(self, optimizer, scalar(1, 'float32', self._scale.device), true)
    optimizer.grad_scale = self._scale:clone()
  end
  optimizer.found_inf = total_found(state, self._scale.device)
  local ok, result = pcall(optimizer.step, optimizer)
  optimizer.grad_scale, optimizer.found_inf = nil, nil
  if not ok then error(result, 0) end
  return result
end

-- Returns whether the optimizer's kernel checks for infinities itself. During a capture the host cannot check, so every
-- optimizer that has such a kernel uses it.
local function leaves_step_to_kernel(optimizer)
  if optimizer._step_supports_amp_scaling then return true end
  if not capture.is_capturing() then return false end
  if optimizer._takes_found_inf and optimizer.defaults.fused ~= false then return true end
  errors.raise('unsupported', ('GradScaler: a CUDA graph cannot leave out a step of %s where gradients are infinite: take '
    .. 'Adam, AdamW, SGD or Adagrad, whose kernels do it, or bfloat16 without a GradScaler'):format(class.of(optimizer).__name))
end

---Calls optimizer:step() unless the gradients contain an infinity or a NaN.
---@param optimizer optim.Optimizer
---@param ... any arguments that a disabled scaler passes to optimizer:step()
---@return any result of optimizer:step(), nil if the step was skipped
---Raises code 'argument' before scale(), for a second call since the last update, or with a closure.
function GradScaler:step(optimizer, ...)
  if not self._enabled then return optimizer:step(...) end
  if select('#', ...) > 0 and (...) ~= nil then
    raise('a closure is not supported while the scaler is enabled')
  end
  check_scaled(self, 'step')
  if virtual_ranks.holds_step(class.of(optimizer).__name) then return nil end
  local state, result = state_of(self, optimizer), nil
  if state.stage == 'stepped' then raise('step() has already been called since the last update()') end
  if leaves_step_to_kernel(optimizer) then
    result = fused_step(self, optimizer, state)
  else
    if state.stage == 'ready' then self:unscale_(optimizer) end
    if ordered.len(state.found) == 0 then raise('no gradient of this optimizer was checked for infinities') end
    if total_found(state, self._scale.device):item() == 0 then result = optimizer:step() end
  end
  state.stage = 'stepped'
  return result
end

-- Returns one tensor that says whether any optimizer found an infinity.
local function found_anywhere(self)
  local sum
  for _, state in ipairs(self._states) do
    if ordered.len(state.found) > 0 then
      local found = total_found(state, self._scale.device)
      sum = sum and sum + found or found
    end
  end
  return sum or raise('no infinity checks were recorded prior to update: call step(optimizer) first')
end

local function set_scale(self, new_scale)
  if type(new_scale) == 'number' then return self._scale:fill_(new_scale) end
  if not torch.is_tensor(new_scale) or new_scale:numel() ~= 1 or new_scale.requires_grad then
    raise('new_scale is a number or a tensor with one element that needs no gradient')
  end
  self._scale:copy_(new_scale)
end

---Ends an iteration, after all optimizers' steps: the scale shrinks, grows or becomes new_scale.
---@param new_scale? number|torch.Tensor
function GradScaler:update(new_scale)
  if not self._enabled or virtual_ranks.is_held() then return end
  check_scaled(self, 'update')
  if new_scale ~= nil then
    set_scale(self, new_scale)
  else
    torch._amp_update_scale_(self._scale, self._growth_tracker, found_anywhere(self), self._growth_factor,
      self._backoff_factor, self._growth_interval)
  end
  self._states = {}
end

-- Clears the state after a failed capture of a step.
function GradScaler:_forget_step() self._states = {} end

---@return number scale 1 when disabled
function GradScaler:get_scale()
  if not self._enabled then return 1 end
  return self._scale and self._scale:item() or self._init_scale
end

---@return number
function GradScaler:get_growth_factor() return self._growth_factor end

---@param factor number
function GradScaler:set_growth_factor(factor) self._growth_factor = factor end

---@return number
function GradScaler:get_backoff_factor() return self._backoff_factor end

---@param factor number
function GradScaler:set_backoff_factor(factor) self._backoff_factor = factor end

---@return integer
function GradScaler:get_growth_interval() return self._growth_interval end

---@param interval integer
function GradScaler:set_growth_interval(interval) self._growth_interval = interval end

---@return boolean
function GradScaler:is_enabled() return self._enabled end

---Returns the state for a resumed run, as Python's does; empty when disabled. Call it after update().
---@return table state base.ordered map
function GradScaler:state_dict()
  if not self._enabled then return ordered.new() end
  return ordered.new{
    {'scale', self:get_scale()}, {'growth_factor', self._growth_factor}, {'backoff_factor', self._backoff_factor},
    {'growth_interval', self._growth_interval},
    {'_growth_tracker', self._growth_tracker and self._growth_tracker:item() or self._init_growth_tracker},
  }
end

---@param state table a result of state_dict, here or in Python
---Raises code 'argument' for the empty state of a disabled scaler.
function GradScaler:load_state_dict(state)
  if not self._enabled then return end
  if type(state) ~= 'table' or state.scale == nil then
    raise('the state dict is empty, possibly because it was saved from a disabled GradScaler')
  end
  self._init_scale, self._init_growth_tracker = state.scale, state._growth_tracker
  self._growth_factor, self._backoff_factor = state.growth_factor, state.backoff_factor
  self._growth_interval = state.growth_interval
  self:_forget_step()  -- train.elastic repeats an interrupted step
  if not self._scale then return end
  self._scale:fill_(state.scale)
  self._growth_tracker:fill_(state._growth_tracker)
end

return {GradScaler = GradScaler}
