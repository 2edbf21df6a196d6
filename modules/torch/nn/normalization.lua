-- torch/nn/normalization.lua: LayerNorm, RMSNorm, GroupNorm, LocalResponseNorm, CrossMapLRN2d.

local args = require 'base.args'
local errors = require 'base.errors'
local init = require 'torch.nn.init'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local stateless = require 'torch.nn.stateless'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local F = require 'torch.nn.functional'
local torch = require 'torch'

local take = inputs{'input'}

local function shape_of(value) return type(value) == 'number' and {value} or {unpack(value)} end

local function reset_parameters(self)
  if self.weight ~= nil then init.ones_(self.weight) end
  if self.bias ~= nil then init.zeros_(self.bias) end
end

-- Registers a parameter of the shape, or an absent one.
local function register(self, name, shape, a, is_there)
  local tensor = is_there and torch.empty(shape, {dtype = a.dtype, device = a.device})
  self:register_parameter(name, tensor and Parameter(tensor) or nil)
end

---Normalizes over the last dimensions (Ba et al. 2016). Arguments: normalized_shape (a number or a list), {eps = 1e-5,
---elementwise_affine = true, bias = true, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local y = torch.nn.LayerNorm(4)(torch.randn(2, 4))
---assert(math.abs(y:mean():item()) < 1e-5)
---```
---@class nn.LayerNorm: nn.Module
---@overload fun(normalized_shape: integer|integer[], options?: table): nn.LayerNorm
---@field weight torch.Tensor|nil (normalized_shape)
---@field bias torch.Tensor|nil (normalized_shape)
local LayerNorm = Module:extend('LayerNorm')

local layer_signature = args.signature('LayerNorm', {'normalized_shape', {'eps', 1e-5}, {'elementwise_affine', true},
  {'bias', true}, {'device'}, {'dtype'}})

function LayerNorm:init(...)
  local a = layer_signature:bind(...)
  local shape = shape_of(a.normalized_shape)
  self.normalized_shape, self.eps, self.elementwise_affine = shape, a.eps, a.elementwise_affine
  register(self, 'weight', shape, a, a.elementwise_affine)
  register(self, 'bias', shape, a, a.elementwise_affine and a.bias)
  self:reset_parameters()
end

LayerNorm.reset_parameters = reset_parameters

function LayerNorm:forward(...)
  return torch.layer_norm(take(self, ...), self.normalized_shape, self.weight, self.bias, self.eps)
end

function LayerNorm:extra_repr()
  return repr.fields{{'', self.normalized_shape}, {'eps', repr.float(self.eps), true},
                     {'elementwise_affine', self.elementwise_affine}}
end

---x / √(mean of x² over the last dimensions + eps) (Zhang and Sennrich 2019). Arguments: normalized_shape (a number or a
---list), {eps (default: the dtype's smallest difference from 1), elementwise_affine = true, device, dtype}.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.RMSNorm(4)(torch.full({2, 4}, 3)):sub(1):abs():max():item() < 1e-5)
---```
---@class nn.RMSNorm: nn.Module
---@overload fun(normalized_shape: integer|integer[], options?: table): nn.RMSNorm
---@field weight torch.Tensor|nil (normalized_shape)
local RMSNorm = Module:extend('RMSNorm')

local rms_signature = args.signature('RMSNorm', {'normalized_shape', {'eps'}, {'elementwise_affine', true}, {'device'},
  {'dtype'}})

function RMSNorm:init(...)
  local a = rms_signature:bind(...)
  local shape = shape_of(a.normalized_shape)
  self.normalized_shape, self.eps, self.elementwise_affine = shape, a.eps, a.elementwise_affine
  register(self, 'weight', shape, a, a.elementwise_affine)
  self:reset_parameters()
end

RMSNorm.reset_parameters = reset_parameters

-- PyTorch's name.
local take_x = inputs{'x'}

function RMSNorm:forward(...)
  return torch.rms_norm(take_x(self, ...), self.normalized_shape, self.weight, self.eps)
end

RMSNorm.extra_repr = LayerNorm.extra_repr

---Normalizes groups of channels of (N, C, …) (Wu and He 2018). Arguments: num_groups, num_channels, {eps = 1e-5, affine = true,
---device, dtype}.
---@class nn.GroupNorm: nn.Module
---@overload fun(num_groups: integer, num_channels: integer, options?: table): nn.GroupNorm
---@field weight torch.Tensor|nil (num_channels)
---@field bias torch.Tensor|nil (num_channels)
local GroupNorm = Module:extend('GroupNorm')

local group_signature = args.signature('GroupNorm', {'num_groups', 'num_channels', {'eps', 1e-5}, {'affine', true},
  {'device'}, {'dtype'}})

function GroupNorm:init(...)
  local a = group_signature:bind(...)
  require('torch.functions.checks').counts('GroupNorm', a, 'num_groups', 'num_channels')
  if a.num_channels % a.num_groups ~= 0 then
    errors.raise('argument', ('GroupNorm: num_groups = %d must divide num_channels = %d'):format(a.num_groups,
      a.num_channels))
  end
  self.num_groups, self.num_channels, self.eps, self.affine = a.num_groups, a.num_channels, a.eps, a.affine
  register(self, 'weight', {a.num_channels}, a, a.affine)
  register(self, 'bias', {a.num_channels}, a, a.affine)
  self:reset_parameters()
end

GroupNorm.reset_parameters = reset_parameters

function GroupNorm:forward(...)
  return torch.group_norm(take(self, ...), self.num_groups, self.weight, self.bias, self.eps)
end

function GroupNorm:extra_repr()
  return repr.fields{{'', self.num_groups}, {'', self.num_channels}, {'eps', repr.float(self.eps), true},
                     {'affine', self.affine}}
end

---x / (k + alpha · mean of x² over `size` neighbouring channels)^beta of (N, C, …) (Krizhevsky et al. 2012). Arguments:
---size, alpha = 1e-4, beta = 0.75, k = 1.
---@class nn.LocalResponseNorm: nn.Module
---@overload fun(size: integer, alpha?: number, beta?: number, k?: number): nn.LocalResponseNorm
local LocalResponseNorm = stateless('LocalResponseNorm', {'size', {'alpha', 1e-4}, {'beta', 0.75}, {'k', 1}},
  function(self, x) return F.local_response_norm(x, self.size, self.alpha, self.beta, self.k) end,
  {{'size', 'bare'}, {'alpha', 'float'}, {'beta', 'float'}, {'k', 'float'}})

---PyTorch's older LocalResponseNorm of (N, C, H, W). Its windows are shifted at the last channels, as in PyTorch.
---Arguments: size, alpha = 1e-4, beta = 0.75, k = 1.
---@class nn.CrossMapLRN2d: nn.Module
---@overload fun(size: integer, alpha?: number, beta?: number, k?: number): nn.CrossMapLRN2d
local CrossMapLRN2d = stateless('CrossMapLRN2d', {'size', {'alpha', 1e-4}, {'beta', 0.75}, {'k', 1}}, function(self, x)
  return require('torch.nn.cross_map').apply(x, self.size, self.alpha, self.beta, self.k)
end, {{'size', 'bare'}, {'alpha', 'float'}, {'beta', 'float'}, 'k'})

return {LayerNorm = LayerNorm, RMSNorm = RMSNorm, GroupNorm = GroupNorm, LocalResponseNorm = LocalResponseNorm,
        CrossMapLRN2d = CrossMapLRN2d}
