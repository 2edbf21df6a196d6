-- torch/nn/conv.lua: convolutions and transposed convolutions over 1, 2 and 3 dimensions.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local init = require 'torch.nn.init'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local tuple = require 'torch.nn.tuple'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local torch = require 'torch'

local function all_equal(list, value)
  for _, item in ipairs(list) do
    if item ~= value then return false end
  end
  return true
end

local function check_groups(self)
  if self.in_channels % self.groups == 0 and self.out_channels % self.groups == 0 then return end
  errors.raise('argument', ('groups = %d must divide in_channels = %d and out_channels = %d'):format(self.groups,
    self.in_channels, self.out_channels))
end

local function reset_parameters(self)
  init.kaiming_uniform_(self.weight, {a = math.sqrt(5)})
  if self.bias == nil then return end
  local size, fan_in = self.weight:size(), 1
  for i = 2, #size do fan_in = fan_in * size[i] end
  if fan_in == 0 then return end
  local bound = 1 / math.sqrt(fan_in)
  init.uniform_(self.bias, -bound, bound)
end

-- Sets fields, parameters and their initial values, for both families.
local function set_up(self, a, weight_channels)
  local dims = self._dims
  self.in_channels, self.out_channels, self.groups = a.in_channels, a.out_channels, a.groups
  self.kernel_size = tuple(a.kernel_size, dims, 'kernel_size')
  self.stride = tuple(a.stride, dims, 'stride')
  self.dilation = tuple(a.dilation, dims, 'dilation')
  self.padding = type(a.padding) == 'string' and a.padding or tuple(a.padding, dims, 'padding')
  self.padding_mode = a.padding_mode
  check_groups(self)
  local size = weight_channels()
  for _, extent in ipairs(self.kernel_size) do size[#size + 1] = extent end
  local like = {dtype = a.dtype, device = a.device}
  self.weight = Parameter(torch.empty(size, like))
  self:register_parameter('bias', a.bias and Parameter(torch.empty({a.out_channels}, like)) or nil)
  reset_parameters(self)
end

local function extra_repr(self)
  local fields = {{'', self.in_channels}, {'', self.out_channels}, {'kernel_size', self.kernel_size},
                  {'stride', self.stride}}
  if type(self.padding) == 'string' or not all_equal(self.padding, 0) then
    fields[#fields + 1] = {'padding', self.padding, type(self.padding) == 'string'}
  end
  if not all_equal(self.dilation, 1) then fields[#fields + 1] = {'dilation', self.dilation} end
  if self.output_padding and not all_equal(self.output_padding, 0) then
    fields[#fields + 1] = {'output_padding', self.output_padding}
  end
  if self.groups ~= 1 then fields[#fields + 1] = {'groups', self.groups} end
  if self.bias == nil then fields[#fields + 1] = {'bias', false} end
  if self.padding_mode ~= 'zeros' then fields[#fields + 1] = {'padding_mode', self.padding_mode, true} end
  return repr.fields(fields)
end

-- Returns explicit padding for the modes other than zeros: last dimension first, as in torch.pad.
local function explicit_padding(self)
  if self.padding_mode == 'zeros' then return nil end
  local out = {}
  for i = self._dims, 1, -1 do
    local total = self.padding == 'same' and self.dilation[i] * (self.kernel_size[i] - 1) or nil
    local left = total and math.floor(total / 2) or self.padding[i]
    out[#out + 1] = left
    out[#out + 1] = total and total - left or left
  end
  return out
end

local take = inputs{'input'}

local function conv_class(dims)
  local name = ('Conv%dd'):format(dims)
  local operator = ('conv%dd'):format(dims)
  local Conv = Module:extend(name)
  Conv._dims = dims
  local signature = args.signature(name, {'in_channels', 'out_channels', 'kernel_size', {'stride', 1}, {'padding', 0},
    {'dilation', 1}, {'groups', 1}, {'bias', true}, {'padding_mode', 'zeros'}, {'device'}, {'dtype'}})

  function Conv:init(...)
    local a = signature:bind(...)
    require('torch.functions.checks').counts(name, a, 'in_channels', 'out_channels', 'groups')
    args.one_of(name .. ': padding_mode', a.padding_mode, {'circular', 'reflect', 'replicate', 'zeros'})
    if type(a.padding) == 'string' then args.one_of(name .. ': padding', a.padding, {'same', 'valid'}) end
    set_up(self, a, function() return {a.out_channels, a.in_channels / a.groups} end)
    if a.padding == 'same' and not all_equal(self.stride, 1) then
      errors.raise('argument', name .. ": padding = 'same' goes with stride = 1 alone")
    end
    if a.padding ~= 'valid' then self._explicit_padding = explicit_padding(self) end
  end

  function Conv:forward(...)
    local x = take(self, ...)
    local padding = self.padding
    if self._explicit_padding then
      x = torch.pad(x, self._explicit_padding, self.padding_mode)
      padding = 0
    end
    return torch[operator](x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)
  end

  Conv.reset_parameters, Conv.extra_repr = reset_parameters, extra_repr
  return Conv
end

-- Returns the output_padding for a requested output size, which may include batch and channels.
local function padding_for(self, x, output_size)
  local dims, name = self._dims, class.of(self).__name
  local first = x:dim() - dims
  local offset = #output_size == dims + first and first or 0
  if #output_size ~= dims + offset then
    errors.raise('argument', ('%s: output_size has %d or %d numbers, got %d'):format(name, dims, dims + first,
      #output_size))
  end
  local out = {}
  for i = 1, dims do
    local smallest = (x:size(first + i - 1) - 1) * self.stride[i] - 2 * self.padding[i]
      + self.dilation[i] * (self.kernel_size[i] - 1) + 1
    out[i] = output_size[i + offset] - smallest
    if out[i] < 0 or out[i] >= self.stride[i] then
      errors.raise('argument', ('%s: output_size[%d] = %d must lie between %d and %d'):format(name, i,
        output_size[i + offset], smallest, smallest + self.stride[i] - 1))
    end
  end
  return out
end

local take_sized = inputs{'input', {'output_size'}}

local function transposed_class(dims)
  local name = ('ConvTranspose%dd'):format(dims)
  local operator = ('conv_transpose%dd'):format(dims)
  local Conv = Module:extend(name)
  Conv._dims = dims
  local signature = args.signature(name, {'in_channels', 'out_channels', 'kernel_size', {'stride', 1}, {'padding', 0},
    {'output_padding', 0}, {'groups', 1}, {'bias', true}, {'dilation', 1}, {'padding_mode', 'zeros'}, {'device'},
    {'dtype'}})

  function Conv:init(...)
    local a = signature:bind(...)
    require('torch.functions.checks').counts(name, a, 'in_channels', 'out_channels', 'groups')
    if a.padding_mode ~= 'zeros' then
      errors.raise('argument', name .. ": padding_mode can only be 'zeros'")
    end
    self.output_padding = tuple(a.output_padding, dims, 'output_padding')
    set_up(self, a, function() return {a.in_channels, a.out_channels / a.groups} end)
  end

  function Conv:forward(...)
    local x, output_size = take_sized(self, ...)
    local output_padding = output_size and padding_for(self, x, output_size) or self.output_padding
    return torch[operator](x, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups,
      self.dilation)
  end

  Conv.reset_parameters, Conv.extra_repr = reset_parameters, extra_repr
  return Conv
end

---Convolution over (N, C, L). Arguments: in_channels, out_channels, kernel_size, {stride = 1, padding = 0 (or
---'same'), dilation = 1, groups = 1, bias = true, padding_mode = 'zeros', device, dtype}.
---@class nn.Conv1d: nn.Module
---@overload fun(in_channels: integer, out_channels: integer, kernel_size: integer|integer[], ...): nn.Conv1d
---@field weight torch.Tensor (out_channels, in_channels / groups, k)
---@field bias torch.Tensor|nil (out_channels)
local Conv1d = conv_class(1)

---Convolution over (N, C, H, W); arguments as Conv1d, with a number or a list {height, width} for each size.
---
---```lua
---local torch = require 'torch'
---local conv = torch.nn.Conv2d(1, 8, 3, {stride = 1, padding = 1})
---assert(conv(torch.ones(2, 1, 28, 28)).shape[4] == 28)
---assert(tostring(conv) == 'Conv2d(1, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))')
---```
---@class nn.Conv2d: nn.Module
---@overload fun(in_channels: integer, out_channels: integer, kernel_size: integer|integer[], ...): nn.Conv2d
---@field weight torch.Tensor (out_channels, in_channels / groups, kh, kw)
---@field bias torch.Tensor|nil (out_channels)
local Conv2d = conv_class(2)

---Convolution over (N, C, D, H, W); arguments as Conv1d.
---@class nn.Conv3d: nn.Module
---@overload fun(in_channels: integer, out_channels: integer, kernel_size: integer|integer[], ...): nn.Conv3d
local Conv3d = conv_class(3)

---Transposed convolution over (N, C, L). Arguments: in_channels, out_channels, kernel_size, {stride = 1, padding = 0,
---output_padding = 0, groups = 1, bias = true, dilation = 1, padding_mode = 'zeros' (no other), device, dtype}. forward(x,
---output_size) selects one of the output sizes that are possible with the stride.
---@class nn.ConvTranspose1d: nn.Module
---@overload fun(in_channels: integer, out_channels: integer, kernel_size: integer|integer[], ...): nn.ConvTranspose1d
local ConvTranspose1d = transposed_class(1)

---Transposed convolution over (N, C, H, W); arguments as ConvTranspose1d.
---@class nn.ConvTranspose2d: nn.Module
---@overload fun(in_channels: integer, out_channels: integer, kernel_size: integer|integer[], ...): nn.ConvTranspose2d
local ConvTranspose2d = transposed_class(2)

---Transposed convolution over (N, C, D, H, W); arguments as ConvTranspose1d.
---@class nn.ConvTranspose3d: nn.Module
---@overload fun(in_channels: integer, out_channels: integer, kernel_size: integer|integer[], ...): nn.ConvTranspose3d
local ConvTranspose3d = transposed_class(3)

return {Conv1d = Conv1d, Conv2d = Conv2d, Conv3d = Conv3d, ConvTranspose1d = ConvTranspose1d,
        ConvTranspose2d = ConvTranspose2d, ConvTranspose3d = ConvTranspose3d}
