-- torch/nn/normalization.lua: LayerNorm, GroupNorm.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local torch = require 'torch'

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
  local shape = type(a.normalized_shape) == 'number' and {a.normalized_shape} or a.normalized_shape
  local like = {dtype = a.dtype, device = a.device}
  self.normalized_shape, self.eps, self.elementwise_affine = shape, a.eps, a.elementwise_affine
  self:register_parameter('weight', a.elementwise_affine and Parameter(torch.ones(shape, like)) or nil)
  local has_bias = a.elementwise_affine and a.bias
  self:register_parameter('bias', has_bias and Parameter(torch.zeros(shape, like)) or nil)
end

function LayerNorm:forward(x) return torch.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps) end

function LayerNorm:extra_repr()
  return repr.fields{{'', self.normalized_shape}, {'eps', self.eps}, {'elementwise_affine', self.elementwise_affine}}
end

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
  if a.num_channels % a.num_groups ~= 0 then
    errors.raise('argument', ('GroupNorm: num_groups = %d must divide num_channels = %d'):format(a.num_groups,
      a.num_channels))
  end
  local like = {dtype = a.dtype, device = a.device}
  self.num_groups, self.num_channels, self.eps, self.affine = a.num_groups, a.num_channels, a.eps, a.affine
  self:register_parameter('weight', a.affine and Parameter(torch.ones({a.num_channels}, like)) or nil)
  self:register_parameter('bias', a.affine and Parameter(torch.zeros({a.num_channels}, like)) or nil)
end

function GroupNorm:forward(x) return torch.group_norm(x, self.num_groups, self.weight, self.bias, self.eps) end

function GroupNorm:extra_repr()
  return repr.fields{{'', self.num_groups}, {'', self.num_channels}, {'eps', self.eps}, {'affine', self.affine}}
end

return {LayerNorm = LayerNorm, GroupNorm = GroupNorm}
