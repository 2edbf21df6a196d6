-- torch/optim/rates.lua: Rates: learning rates on the devices of the parameters, for steps in a CUDA graph.
--
-- A group's lr stays a number, which schedules change and scripts read. A captured step reads it from a tensor instead,
-- which write() updates before each replay.

local capture = require 'torch.cuda.capture'
local errors = require 'base.errors'
local torch = require 'torch'

---@class optim.Rates
local Rates = {}
Rates.__index = Rates

---Returns a learning rate as a number; as in Python it may be a tensor of one element, which schedules fill.
---@param rate number|torch.Tensor
---@return number
function Rates.number(rate) return type(rate) == 'userdata' and rate:item() or rate end

---Sets a group's learning rate.
---@param group table
---@param rate number
function Rates.set(group, rate)
  if type(group.lr) == 'userdata' then group.lr:fill_(rate) else group.lr = rate end
end

---@param optimizer optim.Optimizer
---@param dtype string dtype of the tensors that the kernels require
---@return optim.Rates
function Rates.new(optimizer, dtype)
  return setmetatable({_optimizer = optimizer, _dtype = dtype, _of_group = {}}, Rates)
end

---Returns the learning rate of a group on a device. During a capture it must exist already.
---@param group table
---@param device string
---@return torch.Tensor 0-dim
function Rates:of(group, device)
  local rates = self._of_group[group] or {value = Rates.number(group.lr), by_device = {}}
  self._of_group[group] = rates
  local rate = rates.by_device[device]
  if not rate then
    if capture.is_capturing() then
      errors.raise('argument', ('an optimizer steps on %s in a capture, but did not before it: call the same step() before the '
        .. 'capture, as train.graph does'):format(device))
    end
    rate = torch.full({}, rates.value, {dtype = self._dtype, device = device})
    rates.by_device[device] = rate
  end
  return rate
end

---Copies changed numbers to the devices.
function Rates:write()
  for _, group in ipairs(self._optimizer.param_groups) do
    local rates = self._of_group[group]
    local value = rates and Rates.number(group.lr)
    if rates and rates.value ~= value then
      rates.value = value
      -- One tensor for each device: the order is irrelevant.
      for _, rate in next, rates.by_device do rate:fill_(value) end
    end
  end
end

---Computes param - lr · factor · update, in place.
---@param param torch.Tensor
---@param update torch.Tensor
---@param lr number|torch.Tensor
---@param factor? number default 1
function Rates.descend(param, update, lr, factor)
  factor = factor or 1
  if type(lr) == 'number' then
    param:add_(update, {alpha = -lr * factor})
  else
    param:addcmul_(update, lr, {value = -factor})
  end
end

---Computes param · (1 - lr · weight_decay), in place.
---@param param torch.Tensor
---@param lr number|torch.Tensor
---@param weight_decay number
function Rates.decay(param, lr, weight_decay)
  if type(lr) == 'number' then
    param:mul_(1 - lr * weight_decay)
  else
    param:mul_(lr:mul(-weight_decay):add_(1))
  end
end

return Rates
