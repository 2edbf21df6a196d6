-- torch/optim/fused.lua: optimizers whose step is one of LibTorch's fused kernels over lists of tensors.
--
-- With `fused = false` a step is the sequence of operators of Python's non-fused step, bitwise equal on the CPU. A
-- subclass implements both: _update_dense with the kernel, _update_plain with the operators.

local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local errors = require 'base.errors'
local Optimizer = require('torch.optim.optimizer').Optimizer
local Plan = require 'torch.optim.plan'
local torch = require 'torch'

---@class optim.Fused: optim.Optimizer
local Fused = Optimizer:extend('Fused')
Fused._can_be_captured, Fused._rate_dtype, Fused._takes_found_inf = true, 'float32', true

function Fused:init(...)
  Optimizer.init(self, ...)
  -- As in Python, only an optimizer with fused = true takes the scale from a GradScaler.
  self._step_supports_amp_scaling = self.defaults.fused == true or nil
end

-- The devices for which the kernels exist.
local KERNELS = {cpu = true, cuda = true}

function Fused:_check_group(group)
  if not group.fused then return end
  for i, param in ipairs(group.params) do
    local device = param.device:match '^%a+'
    if not param:is_floating_point() or not KERNELS[device] then
      errors.raise('argument', ('%s: fused = true needs floating-point parameters on cpu or cuda, parameter %d is %s on %s: '
        .. 'leave fused out'):format(class.of(self).__name, i, param.dtype, param.device))
    end
  end
end

function Fused:_make_capturable(is_capturing)
  for _, group in ipairs(self.param_groups) do
    if group.fused == false then
      return class.of(self).__name .. ': a CUDA graph cannot hold a step with fused = false, which computes on the host'
    end
  end
  return Optimizer._make_capturable(self, is_capturing)
end

---Returns the learning rate for the argument `lr` of the next operator. A plan of train.compile takes that of each call.
---@param group table
---@param device string
---@return number|torch.Tensor
function Fused:_lr_argument(group, device)
  if capture.current and capture.current.add_rate and not self._rates then capture.current:add_rate(group) end
  return self:_lr_of(group, device)
end

local function all_as_real(list)
  local out = {}
  for i, tensor in ipairs(list) do out[i] = torch.view_as_real(tensor) end
  return out
end

function Fused:_prepare(group, batch, loose)
  if batch.sparse and (group.fused or not self._update_sparse) then
    errors.raise('argument', ('%s%s does not support sparse gradients'):format(class.of(self).__name,
      group.fused and ' with fused = true' or ''))
  end
  if loose then return end
  for _, name in ipairs(self:_names(group).scalars) do batch.packed[name] = Plan.pack(batch.states, name) end
end

local function equal(strides, others)
  for i = 1, #strides do
    if strides[i] ~= others[i] then return false end
  end
  return true
end

local function with_strides(tensor, strides)
  if equal(tensor:stride(), strides) then return tensor end
  return torch.empty_strided(tensor:size(), strides, {dtype = tensor.dtype, device = tensor.device}):copy_(tensor)
end

-- The kernels require gradients and state to have the memory layout of their parameter. The backward pass makes such
-- gradients, and new state has it too. But a script may set another gradient, load the state of a model with another
-- memory format, or change the format between two steps.
local function laid_as_parameters(batch, grads, names)
  local laid, of_state = {}, batch.strides or {}
  batch.strides = of_state
  for i, param in ipairs(batch.params) do
    local strides, state = param:stride(), batch.states[i]
    if not of_state[i] or not equal(of_state[i], strides) then
      for _, name in ipairs(names) do
        if batch.lists[name] then
          state[name] = with_strides(state[name], strides)
          batch.lists[name][i] = state[name]
        end
      end
      of_state[i] = strides
    end
    laid[i] = with_strides(grads[i], strides)
  end
  return laid
end

---Returns parameters, gradients and named lists of the state in the form of the kernel: complex numbers as pairs.
---@param batch optim.Batch
---@param grads torch.Tensor[]
---@param names string[]
---@return torch.Tensor[] params, torch.Tensor[] grads, torch.Tensor[] ... one list for each name
function Fused._kernel_lists(batch, grads, names)
  local lists = {batch.params, laid_as_parameters(batch, grads, names)}
  for i, name in ipairs(names) do lists[i + 2] = batch.lists[name] or {} end
  if batch.complex then
    for i, list in ipairs(lists) do lists[i] = all_as_real(list) end
  end
  return unpack(lists)
end

---Returns the gradients of a plain step: after maximize, and after weight decay if that is added to them.
---@param group table
---@param batch optim.Batch
---@param grads torch.Tensor[]
---@return torch.Tensor[]
function Fused._plain_gradients(group, batch, grads)
  if group.maximize then grads = torch._foreach_neg(grads) end
  if group.weight_decay == 0 or group.decoupled_weight_decay then return grads end
  return torch._foreach_add(grads, batch.params, {alpha = group.weight_decay})
end

local HALF = {float16 = true, bfloat16 = true}

---Returns whether the parameters of a batch have 16 bits and are on the CPU.
---@param batch optim.Batch
---@return boolean
function Fused._has_halves(batch) return HALF[batch.params[1].dtype] and batch.params[1].is_cpu or false end

---Multiplies a list of a batch in place. On the CPU, the operator over a list first rounds the number to 16 bits; the
---operator of one tensor, which Python's default uses, does not.
---@param batch optim.Batch
---@param list torch.Tensor[]
---@param number number
function Fused._multiply(batch, list, number)
  if not Fused._has_halves(batch) then return torch._foreach_mul_(list, number) end
  for _, tensor in ipairs(list) do tensor:mul_(number) end
end

---Returns the counts of steps of a batch.
---@param batch optim.Batch
---@return number[]
function Fused._counts(batch)
  local counts = {}
  for i, step in ipairs(batch.lists.step) do counts[i] = step:item() end
  return counts
end

---Returns the count of steps in the form of the kernels: a float32 tensor next to the parameter.
---@param step? torch.Tensor the present count
---@param param torch.Tensor
---@return torch.Tensor
function Fused._kernel_step(step, param)
  if step then return step:to{dtype = 'float32', device = param.device} end
  return Plan.scalar(0, {dtype = 'float32', device = param.device})
end

---Takes back the count of the step if a GradScaler found an infinity, since the kernel has changed nothing.
---@param batch optim.Batch
function Fused:_uncount_skipped(batch)
  if not self.found_inf then return end
  for _, step in ipairs(batch.lists.step) do step:sub_(self.found_inf) end
end

function Fused:_update(group, batch, grads)
  if batch.sparse then
    if capture.is_capturing() then
      errors.raise('unsupported', class.of(self).__name .. ': a CUDA graph cannot hold a step with sparse gradients')
    end
    return self:_update_sparse(group, batch, grads)
  end
  if group.fused ~= false then return self:_update_dense(group, batch, grads) end
  if capture.is_capturing() then
    errors.raise('unsupported', class.of(self).__name .. ': a CUDA graph cannot hold a step with fused = false')
  end
  self:_update_plain(group, batch, grads)
end

return {Fused = Fused}
