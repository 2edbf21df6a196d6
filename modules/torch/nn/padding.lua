-- torch/nn/padding.lua: pads the last dimensions of (N, C, …) or (C, …).
--
-- `padding` is a number for all sides, or a list of {left, right, top, bottom, front, back}: the last dimension first.

local stateless = require 'torch.nn.stateless'
local tuple = require 'torch.nn.tuple'
local torch = require 'torch'

local function check(dims)
  return function(self) self.padding = tuple(self.padding, 2 * dims, 'padding') end
end

local function pad_class(name, dims, mode)
  local Pad = stateless(('%s%dd'):format(name, dims), {'padding'}, function(self, x)
    return torch.pad(x, self.padding, mode)
  end, {{'padding', 'bare'}})
  Pad._check = check(dims)
  return Pad
end

local function constant_class(dims)
  local Pad = stateless(('ConstantPad%dd'):format(dims), {'padding', 'value'}, function(self, x)
    return torch.pad(x, self.padding, 'constant', self.value)
  end, {'padding', 'value'})
  Pad._check = check(dims)
  return Pad
end

---Pads the last dimension with a value. Arguments: padding, value.
---Shape: (N, C, W) or (C, W) → the same with W + left + right.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.ConstantPad1d({1, 2}, 3)(torch.ones(1, 2)):tolist()[1][5] == 3)
---```
---@class nn.ConstantPad1d: nn.Module
---@overload fun(padding: integer|integer[], value: number): nn.ConstantPad1d
local ConstantPad1d = constant_class(1)

---Pads the last two dimensions with a value. Arguments: padding, value.
---Shape: (N, C, H, W) or (C, H, W) → the same with larger H and W.
---@class nn.ConstantPad2d: nn.Module
---@overload fun(padding: integer|integer[], value: number): nn.ConstantPad2d
local ConstantPad2d = constant_class(2)

---Pads the last three dimensions with a value. Arguments: padding, value.
---Shape: (N, C, D, H, W) or (C, D, H, W) → the same with larger D, H and W.
---@class nn.ConstantPad3d: nn.Module
---@overload fun(padding: integer|integer[], value: number): nn.ConstantPad3d
local ConstantPad3d = constant_class(3)

---Pads the last dimension with zeros. Arguments: padding. Shape: (N, C, W) or (C, W) → the same with W + left + right.
---@class nn.ZeroPad1d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ZeroPad1d
local ZeroPad1d = pad_class('ZeroPad', 1, 'constant')

---Pads the last two dimensions with zeros. Arguments: padding.
---Shape: (N, C, H, W) or (C, H, W) → the same with larger H and W.
---@class nn.ZeroPad2d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ZeroPad2d
local ZeroPad2d = pad_class('ZeroPad', 2, 'constant')

---Pads the last three dimensions with zeros. Arguments: padding.
---Shape: (N, C, D, H, W) or (C, D, H, W) → the same with larger D, H and W.
---@class nn.ZeroPad3d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ZeroPad3d
local ZeroPad3d = pad_class('ZeroPad', 3, 'constant')

---Pads the last dimension with its reflection, which does not repeat the border. Arguments: padding.
---Shape: (N, C, W) or (C, W) → the same with W + left + right.
---@class nn.ReflectionPad1d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ReflectionPad1d
local ReflectionPad1d = pad_class('ReflectionPad', 1, 'reflect')

---The same for the last two dimensions. Shape: (N, C, H, W) or (C, H, W) → the same with larger H and W.
---@class nn.ReflectionPad2d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ReflectionPad2d
local ReflectionPad2d = pad_class('ReflectionPad', 2, 'reflect')

---The same for the last three dimensions. Shape: (N, C, D, H, W) or (C, D, H, W) → the same with larger D, H and W.
---@class nn.ReflectionPad3d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ReflectionPad3d
local ReflectionPad3d = pad_class('ReflectionPad', 3, 'reflect')

---Pads the last dimension with copies of its border. Arguments: padding.
---Shape: (N, C, W) or (C, W) → the same with W + left + right.
---@class nn.ReplicationPad1d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ReplicationPad1d
local ReplicationPad1d = pad_class('ReplicationPad', 1, 'replicate')

---The same for the last two dimensions. Shape: (N, C, H, W) or (C, H, W) → the same with larger H and W.
---@class nn.ReplicationPad2d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ReplicationPad2d
local ReplicationPad2d = pad_class('ReplicationPad', 2, 'replicate')

---The same for the last three dimensions. Shape: (N, C, D, H, W) or (C, D, H, W) → the same with larger D, H and W.
---@class nn.ReplicationPad3d: nn.Module
---@overload fun(padding: integer|integer[]): nn.ReplicationPad3d
local ReplicationPad3d = pad_class('ReplicationPad', 3, 'replicate')

---Pads the last dimension with values from its other end. Arguments: padding.
---Shape: (N, C, W) or (C, W) → the same with W + left + right.
---@class nn.CircularPad1d: nn.Module
---@overload fun(padding: integer|integer[]): nn.CircularPad1d
local CircularPad1d = pad_class('CircularPad', 1, 'circular')

---The same for the last two dimensions. Shape: (N, C, H, W) or (C, H, W) → the same with larger H and W.
---@class nn.CircularPad2d: nn.Module
---@overload fun(padding: integer|integer[]): nn.CircularPad2d
local CircularPad2d = pad_class('CircularPad', 2, 'circular')

---The same for the last three dimensions. Shape: (N, C, D, H, W) or (C, D, H, W) → the same with larger D, H and W.
---@class nn.CircularPad3d: nn.Module
---@overload fun(padding: integer|integer[]): nn.CircularPad3d
local CircularPad3d = pad_class('CircularPad', 3, 'circular')

return {
  ConstantPad1d = ConstantPad1d, ConstantPad2d = ConstantPad2d, ConstantPad3d = ConstantPad3d, ZeroPad1d = ZeroPad1d,
  ZeroPad2d = ZeroPad2d, ZeroPad3d = ZeroPad3d, ReflectionPad1d = ReflectionPad1d, ReflectionPad2d = ReflectionPad2d,
  ReflectionPad3d = ReflectionPad3d, ReplicationPad1d = ReplicationPad1d, ReplicationPad2d = ReplicationPad2d,
  ReplicationPad3d = ReplicationPad3d, CircularPad1d = CircularPad1d, CircularPad2d = CircularPad2d,
  CircularPad3d = CircularPad3d,
}
