-- torch/nn/pooling.lua: pooling of (N, C, …) or (C, …). Each size is a number or a list with one for each dimension.

local errors = require 'base.errors'
local class = require 'base.class'
local stateless = require 'torch.nn.stateless'
local tuple = require 'torch.nn.tuple'
local F = require 'torch.nn.functional'
local torch = require 'torch'

local function default_stride(self) self.stride = self.stride or self.kernel_size end

local function max_pool(dims)
  local fn = ('max_pool%dd'):format(dims)
  local Pool = stateless(('MaxPool%dd'):format(dims), {'kernel_size', {'stride'}, {'padding', 0}, {'dilation', 1},
    {'return_indices', false}, {'ceil_mode', false}}, function(self, x)
    return F[fn](x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)
  end, {'kernel_size', 'stride', 'padding', 'dilation', 'ceil_mode'})
  Pool._check = default_stride
  return Pool
end

-- Converts sizes to lists with one number for each dimension, as in PyTorch.
local function as_tuples(dims)
  return function(self)
    self.stride = tuple(self.stride or self.kernel_size, dims, 'stride')
    self.kernel_size = tuple(self.kernel_size, dims, 'kernel_size')
    self.padding = tuple(self.padding, dims, 'padding')
  end
end

local WINDOW = {'kernel_size', 'stride', 'padding'}

local function avg_pool(dims)
  local fn = ('avg_pool%dd'):format(dims)
  local parameters = {'kernel_size', {'stride'}, {'padding', 0}, {'ceil_mode', false}, {'count_include_pad', true}}
  if dims > 1 then parameters[#parameters + 1] = {'divisor_override'} end
  -- The one-dimensional class has no divisor_override.
  local count = dims > 1 and 7 or 6
  local Pool = stateless(('AvgPool%dd'):format(dims), parameters, function(self, x)
    local given = {x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                   self.divisor_override}
    return torch[fn](unpack(given, 1, count))
  end, WINDOW)
  Pool._check = dims == 1 and as_tuples(1) or default_stride
  return Pool
end

local function max_unpool(dims)
  local fn = ('max_unpool%dd'):format(dims)
  local Pool = stateless(('MaxUnpool%dd'):format(dims), {'kernel_size', {'stride'}, {'padding', 0}},
    function(self, x, indices, output_size)
      return F[fn](x, indices, self.kernel_size, self.stride, self.padding, output_size)
    end, WINDOW, {'input', 'indices', {'output_size'}})
  Pool._check = as_tuples(dims)
  return Pool
end

local function check_fraction(dims)
  return function(self)
    local name, samples = class.of(self).__name, self._random_samples
    self._random_samples = nil
    self:register_buffer('_random_samples', samples)
    self.kernel_size = tuple(self.kernel_size, dims, name .. ': kernel_size')
    if (self.output_size == nil) == (self.output_ratio == nil) then
      errors.raise('argument', name .. ': give either output_size or output_ratio')
    end
    if self.output_size ~= nil then self.output_size = tuple(self.output_size, dims, name .. ': output_size') end
    if self.output_ratio == nil then return end
    self.output_ratio = tuple(self.output_ratio, dims, name .. ': output_ratio')
    for _, ratio in ipairs(self.output_ratio) do
      if ratio <= 0 or ratio >= 1 then
        errors.raise('argument', ('%s: output_ratio must lie between 0 and 1, got %s'):format(name, tostring(ratio)))
      end
    end
  end
end

local function fractional_max_pool(dims)
  local fn = ('fractional_max_pool%dd'):format(dims)
  local Pool = stateless(('FractionalMaxPool%dd'):format(dims), {'kernel_size', {'output_size'}, {'output_ratio'},
    {'return_indices', false}, {'_random_samples'}}, function(self, x)
    return F[fn](x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)
  end)
  Pool._check = check_fraction(dims)
  return Pool
end

local function lp_pool(dims)
  local fn = ('lp_pool%dd'):format(dims)
  return stateless(('LPPool%dd'):format(dims), {'norm_type', 'kernel_size', {'stride'}, {'ceil_mode', false}},
    function(self, x) return F[fn](x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode) end,
    {'norm_type', 'kernel_size', 'stride', 'ceil_mode'})
end

local function adaptive_avg_pool(dims)
  local fn = ('adaptive_avg_pool%dd'):format(dims)
  return stateless(('AdaptiveAvgPool%dd'):format(dims), {'output_size'}, function(self, x)
    return F[fn](x, self.output_size)
  end, {'output_size'})
end

local function adaptive_max_pool(dims)
  local fn = ('adaptive_max_pool%dd'):format(dims)
  return stateless(('AdaptiveMaxPool%dd'):format(dims), {'output_size', {'return_indices', false}}, function(self, x)
    return F[fn](x, self.output_size, self.return_indices)
  end, {'output_size'})
end

---Largest value of each window of (N, C, L); arguments as MaxPool2d.
---@class nn.MaxPool1d: nn.Module
---@overload fun(kernel_size: integer, options?: table): nn.MaxPool1d
local MaxPool1d = max_pool(1)

---Largest value of each window of (N, C, H, W). Arguments: kernel_size, {stride = kernel_size, padding = 0, dilation = 1,
---return_indices = false (true: forward returns the flat indices too), ceil_mode = false}.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.MaxPool2d(2)(torch.ones(1, 1, 4, 4)).shape[3] == 2)
---```
---@class nn.MaxPool2d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.MaxPool2d
local MaxPool2d = max_pool(2)

---Largest value of each window of (N, C, D, H, W); arguments as MaxPool2d.
---@class nn.MaxPool3d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.MaxPool3d
local MaxPool3d = max_pool(3)

---Mean of each window of (N, C, L). Arguments: kernel_size, {stride = kernel_size, padding = 0, ceil_mode = false,
---count_include_pad = true}.
---@class nn.AvgPool1d: nn.Module
---@overload fun(kernel_size: integer, options?: table): nn.AvgPool1d
local AvgPool1d = avg_pool(1)

---Mean of each window of (N, C, H, W). Arguments: kernel_size, {stride = kernel_size, padding = 0, ceil_mode = false,
---count_include_pad = true, divisor_override}.
---@class nn.AvgPool2d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.AvgPool2d
local AvgPool2d = avg_pool(2)

---Mean of each window of (N, C, D, H, W); arguments as AvgPool2d.
---@class nn.AvgPool3d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.AvgPool3d
local AvgPool3d = avg_pool(3)

---Puts values back at the indices of MaxPool1d: forward(x, indices, output_size). Arguments: kernel_size, {stride =
---kernel_size, padding = 0}.
---@class nn.MaxUnpool1d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.MaxUnpool1d
local MaxUnpool1d = max_unpool(1)

---Puts values back at the indices of MaxPool2d: forward(x, indices, output_size); arguments as MaxUnpool1d.
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local y, indices = nn.MaxPool2d(2, {return_indices = true})(torch.arange(16):float():view(1, 1, 4, 4))
---assert(nn.MaxUnpool2d(2)(y, indices):sum():item() == y:sum():item())
---```
---@class nn.MaxUnpool2d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.MaxUnpool2d
local MaxUnpool2d = max_unpool(2)

---Puts values back at the indices of MaxPool3d: forward(x, indices, output_size); arguments as MaxUnpool1d.
---@class nn.MaxUnpool3d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.MaxUnpool3d
local MaxUnpool3d = max_unpool(3)

---Largest values of windows at pseudo-random places of (N, C, H, W) (Graham 2015). Arguments: kernel_size, {output_size,
---output_ratio (one of the two), return_indices = false}.
---@class nn.FractionalMaxPool2d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.FractionalMaxPool2d
local FractionalMaxPool2d = fractional_max_pool(2)

---The same for (N, C, D, H, W).
---@class nn.FractionalMaxPool3d: nn.Module
---@overload fun(kernel_size: integer|integer[], options?: table): nn.FractionalMaxPool3d
local FractionalMaxPool3d = fractional_max_pool(3)

---(Σ xᵖ)^(1/p) of each window of (N, C, L). Arguments: norm_type (p), kernel_size, {stride = kernel_size, ceil_mode =
---false}.
---@class nn.LPPool1d: nn.Module
---@overload fun(norm_type: number, kernel_size: integer, options?: table): nn.LPPool1d
local LPPool1d = lp_pool(1)

---The same for (N, C, H, W).
---@class nn.LPPool2d: nn.Module
---@overload fun(norm_type: number, kernel_size: integer|integer[], options?: table): nn.LPPool2d
local LPPool2d = lp_pool(2)

---The same for (N, C, D, H, W).
---@class nn.LPPool3d: nn.Module
---@overload fun(norm_type: number, kernel_size: integer|integer[], options?: table): nn.LPPool3d
local LPPool3d = lp_pool(3)

---Means of (N, C, L) such that the output has the given length. Argument: output_size.
---@class nn.AdaptiveAvgPool1d: nn.Module
---@overload fun(output_size: integer): nn.AdaptiveAvgPool1d
local AdaptiveAvgPool1d = adaptive_avg_pool(1)

---Means of (N, C, H, W) such that the output has the given size. Argument: output_size, a number or {height,
---width}; torch.none in place of a number keeps the input's size.
---@class nn.AdaptiveAvgPool2d: nn.Module
---@overload fun(output_size: integer|integer[]): nn.AdaptiveAvgPool2d
local AdaptiveAvgPool2d = adaptive_avg_pool(2)

---The same for (N, C, D, H, W).
---@class nn.AdaptiveAvgPool3d: nn.Module
---@overload fun(output_size: integer|integer[]): nn.AdaptiveAvgPool3d
local AdaptiveAvgPool3d = adaptive_avg_pool(3)

---Largest values of (N, C, L) such that the output has the given length. Arguments: output_size, {return_indices =
---false}.
---@class nn.AdaptiveMaxPool1d: nn.Module
---@overload fun(output_size: integer, options?: table): nn.AdaptiveMaxPool1d
local AdaptiveMaxPool1d = adaptive_max_pool(1)

---The same for (N, C, H, W).
---@class nn.AdaptiveMaxPool2d: nn.Module
---@overload fun(output_size: integer|integer[], options?: table): nn.AdaptiveMaxPool2d
local AdaptiveMaxPool2d = adaptive_max_pool(2)

---The same for (N, C, D, H, W).
---@class nn.AdaptiveMaxPool3d: nn.Module
---@overload fun(output_size: integer|integer[], options?: table): nn.AdaptiveMaxPool3d
local AdaptiveMaxPool3d = adaptive_max_pool(3)

return {
  MaxPool1d = MaxPool1d, MaxPool2d = MaxPool2d, MaxPool3d = MaxPool3d, AvgPool1d = AvgPool1d, AvgPool2d = AvgPool2d,
  AvgPool3d = AvgPool3d, MaxUnpool1d = MaxUnpool1d, MaxUnpool2d = MaxUnpool2d, MaxUnpool3d = MaxUnpool3d,
  FractionalMaxPool2d = FractionalMaxPool2d, FractionalMaxPool3d = FractionalMaxPool3d, LPPool1d = LPPool1d,
  LPPool2d = LPPool2d, LPPool3d = LPPool3d, AdaptiveAvgPool1d = AdaptiveAvgPool1d, AdaptiveAvgPool2d = AdaptiveAvgPool2d,
  AdaptiveAvgPool3d = AdaptiveAvgPool3d, AdaptiveMaxPool1d = AdaptiveMaxPool1d, AdaptiveMaxPool2d = AdaptiveMaxPool2d,
  AdaptiveMaxPool3d = AdaptiveMaxPool3d,
}
