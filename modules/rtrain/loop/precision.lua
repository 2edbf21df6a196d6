-- rtrain/loop/precision.lua: Precision: runs the forward pass under autocast, and backward and step with a scaled loss.

local class = require 'base.class'
local torch = require 'torch'

local AUTOCAST_DTYPE = {['bf16-mixed'] = 'bfloat16', ['16-mixed'] = 'float16'}

local Precision = class('Precision')

---@param name string '32-true', 'bf16-mixed' or '16-mixed'
---@param device string
function Precision:init(name, device)
  self._device = device:match '^%a+'
  self._dtype = AUTOCAST_DTYPE[name]
  -- float16 has too few exponent bits for small gradients; bfloat16 has those of float32.
  self.scaler = name == '16-mixed' and torch.amp.GradScaler(self._device) or nil
end

---Calls a step under autocast.
---@param fn fun(...): any
---@param ... any its arguments
---@return any ... the results of fn
function Precision:forward(fn, ...)
  if not self._dtype then return fn(...) end
  local arguments, count = {...}, select('#', ...)
  return torch.autocast(self._device, {dtype = self._dtype}, function() return fn(unpack(arguments, 1, count)) end)
end

---@param loss torch.Tensor
function Precision:backward(loss)
  if self.scaler then loss = self.scaler:scale(loss) end
  loss:backward()
end

---Unscales the gradients, before they are inspected or clipped.
---@param optimizer optim.Optimizer
function Precision:unscale(optimizer)
  if self.scaler then self.scaler:unscale_(optimizer) end
end

---@param optimizer optim.Optimizer
function Precision:step(optimizer)
  if not self.scaler then return optimizer:step() end
  self.scaler:step(optimizer)
  self.scaler:update()
end

return Precision
