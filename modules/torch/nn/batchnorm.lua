-- torch/nn/batchnorm.lua: normalization of each channel over the batch, or over each item of it.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local init = require 'torch.nn.init'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local F = require 'torch.nn.functional'
local torch = require 'torch'

local take = inputs{'input'}

-- The common base of BatchNorm and InstanceNorm.
local Norm = Module:extend('Norm')

function Norm:_set_up(a)
  require('torch.functions.checks').counts(class.of(self).__name, a, 'num_features')
  local like = {dtype = a.dtype, device = a.device}
  self.num_features, self.eps, self.affine = a.num_features, a.eps, a.affine
  self.momentum, self.track_running_stats = a.momentum, a.track_running_stats
  self:register_parameter('weight', a.affine and Parameter(torch.empty({a.num_features}, like)) or nil)
  self:register_parameter('bias', a.affine and Parameter(torch.empty({a.num_features}, like)) or nil)
  local tracks = a.track_running_stats
  self:register_buffer('running_mean', tracks and torch.zeros({a.num_features}, like) or nil)
  self:register_buffer('running_var', tracks and torch.ones({a.num_features}, like) or nil)
  self:register_buffer('num_batches_tracked', tracks and torch.tensor(0, {dtype = 'int64', device = a.device}) or nil)
  self:reset_parameters()
end

---Sets the running statistics to mean 0 and variance 1.
function Norm:reset_running_stats()
  if not self.track_running_stats then return end
  self.running_mean:zero_()
  self.running_var:fill_(1)
  self.num_batches_tracked:zero_()
end

function Norm:reset_parameters()
  self:reset_running_stats()
  if not self.affine then return end
  init.ones_(self.weight)
  init.zeros_(self.bias)
end

function Norm:_check_dims(x)
  local dims = x:dim()
  if self._dims[dims] then return end
  errors.raise('argument', ('%s: expected %s dimensions, got %d'):format(class.of(self).__name, self._dims_text, dims))
end

function Norm:extra_repr()
  return repr.fields{{'', self.num_features}, {'eps', repr.float(self.eps), true},
                     {'momentum', repr.float(self.momentum or nil), true},
                     {'affine', self.affine}, {'track_running_stats', self.track_running_stats}}
end

-- A state saved before PyTorch counted batches keeps the present count.
function Norm:_prepare_state(state, prefix)
  local key = prefix .. 'num_batches_tracked'
  if self.track_running_stats and state[key] == nil then state[key] = self.num_batches_tracked end
end

---The common base of BatchNorm1d, 2d, 3d and SyncBatchNorm.
---@class nn._BatchNorm: nn.Module
local BatchNorm = Norm:extend('BatchNorm')

local OPTIONS = {'num_features', {'eps', 1e-5}, {'momentum', 0.1}, {'affine', true}, {'track_running_stats', true},
                 {'device'}, {'dtype'}}
local signature = args.signature('BatchNorm', OPTIONS)

function BatchNorm:init(...) self:_set_up(signature:bind(...)) end

-- momentum = false stands for PyTorch's None: the mean over all batches.
function BatchNorm:_average_factor()
  if not (self.training and self.num_batches_tracked ~= nil) then return self.momentum or 0 end
  self.num_batches_tracked:add_(1)
  return self.momentum or 1 / self.num_batches_tracked:item()
end

function BatchNorm:forward(...)
  local x = take(self, ...)
  self:_check_dims(x)
  local factor = self:_average_factor()
  local uses_batch = self.training or self.running_mean == nil
  if uses_batch and x:numel() <= self.num_features then
    -- With a single value for each channel, the function raises the error.
    return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, true, factor, self.eps)
  end
  return torch.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var, uses_batch, factor, self.eps,
    true)
end

---Normalizes each channel of (N, C) or (N, C, L) (Ioffe and Szegedy 2015). Arguments: num_features, {eps = 1e-5,
---momentum = 0.1 (false: cumulative mean, Python's None), affine = true, track_running_stats = true, device, dtype}.
---@class nn.BatchNorm1d: nn.Module
---@overload fun(num_features: integer, options?: table): nn.BatchNorm1d
---@field weight torch.Tensor|nil (num_features)
---@field bias torch.Tensor|nil (num_features)
---@field running_mean torch.Tensor|nil (num_features)
---@field running_var torch.Tensor|nil (num_features)
local BatchNorm1d = BatchNorm:extend('BatchNorm1d')
BatchNorm1d._dims, BatchNorm1d._dims_text = {[2] = true, [3] = true}, '2 or 3'

---Normalizes each channel of (N, C, H, W); arguments as BatchNorm1d.
---
---```lua
---local torch = require 'torch'
---local norm = torch.nn.BatchNorm2d(3)
---local y = norm(torch.randn(8, 3, 5, 5))
---assert(math.abs(y:mean():item()) < 1e-5 and norm.num_batches_tracked:item() == 1)
---```
---@class nn.BatchNorm2d: nn.BatchNorm1d
---@overload fun(num_features: integer, options?: table): nn.BatchNorm2d
local BatchNorm2d = BatchNorm:extend('BatchNorm2d')
BatchNorm2d._dims, BatchNorm2d._dims_text = {[4] = true}, '4'

---Normalizes each channel of (N, C, D, H, W); arguments as BatchNorm1d.
---@class nn.BatchNorm3d: nn.BatchNorm1d
---@overload fun(num_features: integer, options?: table): nn.BatchNorm3d
local BatchNorm3d = BatchNorm:extend('BatchNorm3d')
BatchNorm3d._dims, BatchNorm3d._dims_text = {[5] = true}, '5'

local InstanceNorm = Norm:extend('InstanceNorm')

local instance_signature = args.signature('InstanceNorm', {'num_features', {'eps', 1e-5}, {'momentum', 0.1},
  {'affine', false}, {'track_running_stats', false}, {'device'}, {'dtype'}})

function InstanceNorm:init(...) self:_set_up(instance_signature:bind(...)) end

function InstanceNorm:forward(...)
  local x = take(self, ...)
  self:_check_dims(x)
  local alone = x:dim() == self._item_dims
  local channels = x:size(alone and 0 or 1)
  if channels ~= self.num_features and self.affine then
    errors.raise('argument', ('%s: expected %d channels, got %d'):format(class.of(self).__name, self.num_features,
      channels))
  end
  local out = F.instance_norm(alone and x:unsqueeze(0) or x, self.running_mean, self.running_var, self.weight, self.bias,
    self.training or not self.track_running_stats, self.momentum or 0, self.eps)
  return alone and out:squeeze(0) or out
end

local function instance_class(spatial)
  local Class = InstanceNorm:extend(('InstanceNorm%dd'):format(spatial))
  Class._dims = {[spatial + 1] = true, [spatial + 2] = true}
  Class._item_dims, Class._dims_text = spatial + 1, ('%d or %d'):format(spatial + 1, spatial + 2)
  return Class
end

---Normalizes each channel of each item of (N, C, L) or (C, L) (Ulyanov et al. 2016). Arguments: num_features, {eps = 1e-5,
---momentum = 0.1, affine = false, track_running_stats = false, device, dtype}.
---
---```lua
---local torch = require 'torch'
---local y = torch.nn.InstanceNorm1d(3)(torch.randn(2, 3, 8))
---assert(y:mean(2):abs():max():item() < 1e-5)
---```
---@class nn.InstanceNorm1d: nn.Module
---@overload fun(num_features: integer, options?: table): nn.InstanceNorm1d
local InstanceNorm1d = instance_class(1)

---The same for (N, C, H, W) or (C, H, W).
---@class nn.InstanceNorm2d: nn.InstanceNorm1d
---@overload fun(num_features: integer, options?: table): nn.InstanceNorm2d
local InstanceNorm2d = instance_class(2)

---The same for (N, C, D, H, W) or (C, D, H, W).
---@class nn.InstanceNorm3d: nn.InstanceNorm1d
---@overload fun(num_features: integer, options?: table): nn.InstanceNorm3d
local InstanceNorm3d = instance_class(3)

return {_BatchNorm = BatchNorm, BatchNorm1d = BatchNorm1d, BatchNorm2d = BatchNorm2d, BatchNorm3d = BatchNorm3d,
        InstanceNorm1d = InstanceNorm1d, InstanceNorm2d = InstanceNorm2d, InstanceNorm3d = InstanceNorm3d}
