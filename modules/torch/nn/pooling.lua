-- torch/nn/pooling.lua: pooling layers.

local args = require 'rtrain.args'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local F = require 'torch.nn.functional'

local function max_pool(dims)
  local name, fn = ('MaxPool%dd'):format(dims), ('max_pool%dd'):format(dims)
  local Pool = Module:extend(name)
  local signature = args.signature(name, {'kernel_size', {'stride'}, {'padding', 0}, {'dilation', 1},
    {'return_indices', false}, {'ceil_mode', false}})

  function Pool:init(...)
    local a = signature:bind(...)
    self.kernel_size, self.stride, self.padding = a.kernel_size, a.stride or a.kernel_size, a.padding
    self.dilation = a.dilation
    self.return_indices, self.ceil_mode = a.return_indices, a.ceil_mode
  end

  function Pool:forward(x)
    return F[fn](x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)
  end

  function Pool:extra_repr()
    return repr.fields{{'kernel_size', self.kernel_size}, {'stride', self.stride}, {'padding', self.padding},
                       {'dilation', self.dilation}, {'ceil_mode', self.ceil_mode}}
  end
  return Pool
end

local function avg_pool(dims)
  local name, fn = ('AvgPool%dd'):format(dims), ('avg_pool%dd'):format(dims)
  local Pool = Module:extend(name)
  local signature = args.signature(name, {'kernel_size', {'stride'}, {'padding', 0}, {'ceil_mode', false},
    {'count_include_pad', true}})

  function Pool:init(...)
    local a = signature:bind(...)
    self.kernel_size, self.stride, self.padding = a.kernel_size, a.stride or a.kernel_size, a.padding
    self.ceil_mode, self.count_include_pad = a.ceil_mode, a.count_include_pad
  end

  function Pool:forward(x)
    return F[fn](x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)
  end

  function Pool:extra_repr()
    return repr.fields{{'kernel_size', self.kernel_size}, {'stride', self.stride}, {'padding', self.padding}}
  end
  return Pool
end

local function adaptive_pool(name, fn)
  local Pool = Module:extend(name)
  local signature = args.signature(name, {'output_size'})

  function Pool:init(...) self.output_size = signature:bind(...).output_size end
  function Pool:forward(x) return F[fn](x, self.output_size) end
  function Pool:extra_repr() return repr.fields{{'output_size', self.output_size}} end
  return Pool
end

---Largest value of each window of (N, C, H, W). Arguments: kernel_size, {stride = kernel_size, padding = 0, dilation = 1,
---return_indices = false, ceil_mode = false}; each size is a number or a list with one for each dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.MaxPool2d(2)(torch.ones(1, 1, 4, 4)).shape[3] == 2)
---```
---@class nn.MaxPool2d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.MaxPool2d
local MaxPool2d = max_pool(2)

---Largest value of each window of (N, C, L); arguments as MaxPool2d.
---@class nn.MaxPool1d: nn.Module
---@overload fun(kernel_size: integer, options?: table): nn.MaxPool1d
local MaxPool1d = max_pool(1)

---Largest value of each window of (N, C, D, H, W); arguments as MaxPool2d.
---@class nn.MaxPool3d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.MaxPool3d
local MaxPool3d = max_pool(3)

---Mean of each window of (N, C, H, W). Arguments: kernel_size, {stride = kernel_size, padding = 0, ceil_mode = false,
---count_include_pad = true}.
---@class nn.AvgPool2d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.AvgPool2d
local AvgPool2d = avg_pool(2)

---Mean of each window of (N, C, L); arguments as AvgPool2d.
---@class nn.AvgPool1d: nn.Module
---@overload fun(kernel_size: integer, options?: table): nn.AvgPool1d
local AvgPool1d = avg_pool(1)

---Mean of each window of (N, C, D, H, W); arguments as AvgPool2d.
---@class nn.AvgPool3d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.AvgPool3d
local AvgPool3d = avg_pool(3)

---Means of (N, C, H, W) such that the output has the given size. Argument: output_size, a number or {height, width}.
---@class nn.AdaptiveAvgPool2d: nn.Module
---@overload fun(output_size: integer|integer[]): nn.AdaptiveAvgPool2d
local AdaptiveAvgPool2d = adaptive_pool('AdaptiveAvgPool2d', 'adaptive_avg_pool2d')

---Means of (N, C, L) such that the output has the given length. Argument: output_size.
---@class nn.AdaptiveAvgPool1d: nn.Module
---@overload fun(output_size: integer): nn.AdaptiveAvgPool1d
local AdaptiveAvgPool1d = adaptive_pool('AdaptiveAvgPool1d', 'adaptive_avg_pool1d')

---Largest values of (N, C, H, W) such that the output has the given size. Argument: output_size, a number or {height,
---width}.
---@class nn.AdaptiveMaxPool2d: nn.Module
---@overload fun(output_size: integer|integer[]): nn.AdaptiveMaxPool2d
local AdaptiveMaxPool2d = adaptive_pool('AdaptiveMaxPool2d', 'adaptive_max_pool2d')

return {
  MaxPool1d = MaxPool1d, MaxPool2d = MaxPool2d, MaxPool3d = MaxPool3d, AvgPool1d = AvgPool1d, AvgPool2d = AvgPool2d,
  AvgPool3d = AvgPool3d, AdaptiveAvgPool1d = AdaptiveAvgPool1d, AdaptiveAvgPool2d = AdaptiveAvgPool2d,
  AdaptiveMaxPool2d = AdaptiveMaxPool2d,
}
