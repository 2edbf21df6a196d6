-- torch/nn/module/conversion.lua: nn.Module: conversion to other devices, dtypes and memory formats, and copies.

local args = require 'base.args'
local errors = require 'base.errors'
local parameter = require 'torch.nn.parameter'

---@class nn.Module
local Module = require 'torch.nn.module.base'

-- Replaces the data of parameters, gradients and buffers; the tensors keep their identity, on which optimizers rely.
-- Conversion from and to the device 'meta', which has no data, makes a new parameter.
local function convert(self, fn, recurse)
  local done = {}
  local function converted(tensor)
    local grad, new = tensor.grad, fn(tensor:detach())
    if (new.device == 'meta') ~= (tensor.device == 'meta') then
      tensor = parameter.Parameter(new, tensor.requires_grad)
    else
      tensor.data = new
    end
    if grad ~= nil then tensor.grad = fn(grad:detach()) end
    return tensor
  end
  for _, module in ipairs(recurse == false and {self} or self:modules()) do
    for name, param in module:_own '_parameters' do
      done[param] = done[param] or converted(param)
      module._fields[name] = done[param]
    end
    for name, buffer in module:_own '_buffers' do module._fields[name] = fn(buffer) end
  end
  return self
end

local DTYPES = {float32 = true, float64 = true, float16 = true, bfloat16 = true, complex64 = true, complex128 = true}

local function is_numeric(tensor) return tensor:is_floating_point() or tensor:is_complex() end

-- Parses to(device, dtype, non_blocking), to(dtype, non_blocking), to(tensor, non_blocking) as options.
local function parse(options, first, second, third)
  local torch = require 'torch'
  if torch.is_tensor(first) then
    options.device, options.dtype, options.non_blocking = first.device, first.dtype, second or options.non_blocking
  elseif DTYPES[first] then
    options.dtype, options.non_blocking = first, second or options.non_blocking
  elseif first ~= nil then
    options.device = torch.device(first)
    options.dtype, options.non_blocking = second or options.dtype, third or options.non_blocking
  end
  if options.dtype ~= nil and not DTYPES[options.dtype] then
    errors.raise('argument', ("Module:to: '%s' is not a floating-point dtype"):format(tostring(options.dtype)))
  end
  return options
end

local TO_OPTIONS = {'device', 'dtype', 'non_blocking', 'memory_format'}

---Moves or casts the module in place: `to('cpu')`, `to(torch.float64)`, `to('cuda', torch.float16)`, `to(tensor)` (its
---device and dtype), `to{device, dtype, non_blocking, memory_format}`. Only floating-point and complex tensors change
---the dtype, only tensors of 4 or 5 dimensions the memory format ('channels_last').
---@param ... any
---@return nn.Module self
---
---```lua
---local torch = require 'torch'
---local net = torch.nn.Conv2d(3, 4, 2):to{memory_format = 'channels_last'}:to(torch.float64)
---assert(net.weight:is_contiguous{memory_format = 'channels_last'} and net.bias.dtype == 'float64')
---```
function Module:to(...)
  local keywords, first, second, third = args.split(3, ...)
  if args.is_keywords(first) then keywords, first = first, nil end
  local given = args.options(keywords, TO_OPTIONS, 'Module:to')
  local options = parse({device = given.device, dtype = given.dtype, non_blocking = given.non_blocking}, first, second,
    third)
  return convert(self, function(tensor)
    local dims, to = tensor:dim(), {device = options.device or tensor.device, non_blocking = options.non_blocking}
    to.dtype = options.dtype and is_numeric(tensor) and options.dtype or tensor.dtype
    if dims == 4 or dims == 5 then to.memory_format = given.memory_format end
    return tensor:to(to)
  end)
end

---Casts all parameters and buffers, also integral ones.
---@param dtype string
---@return nn.Module self
function Module:type(dtype)
  return convert(self, function(tensor) return tensor:to{dtype = dtype} end)
end

---Casts to float32.
---@return nn.Module self
function Module:float() return self:to('float32') end

---Casts to float64.
---@return nn.Module self
function Module:double() return self:to('float64') end

---Casts to float16.
---@return nn.Module self
function Module:half() return self:to('float16') end

---Casts to bfloat16.
---@return nn.Module self
function Module:bfloat16() return self:to('bfloat16') end

---Moves to the CPU.
---@return nn.Module self
function Module:cpu() return self:to('cpu') end

---Moves to the GPU.
---@param device? integer|string its number, or 'cuda:1'
---@return nn.Module self
function Module:cuda(device) return self:to(type(device) == 'number' and 'cuda:' .. device or device or 'cuda') end

---Moves to a device without copying the values; they are undefined afterwards.
---@param options {device: string, recurse: boolean} recurse = false: only this module's own tensors
---@return nn.Module self
function Module:to_empty(options)
  options = args.options(options, {'device', 'recurse'}, 'to_empty')
  if options.device == nil then errors.raise('argument', "to_empty: give the device: to_empty{device = 'cpu'}") end
  local torch = require 'torch'
  return convert(self, function(tensor) return torch.empty_like(tensor, {device = options.device}) end, options.recurse)
end

---Returns a copy of the module with its own parameters: Python's copy.deepcopy(module). Tensors that are shared in the
---module are shared in the copy; gradients are not copied.
---@return nn.Module
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(2, 2)
---local copy = layer:deepcopy()
---assert(torch.equal(copy.weight, layer.weight) and copy.weight ~= layer.weight)
---```
function Module:deepcopy() return require('torch.tensor.deepcopy').deepcopy(self) end

return Module
