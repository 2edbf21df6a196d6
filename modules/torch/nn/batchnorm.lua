-- torch/nn/batchnorm.lua: batch normalization.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local torch = require 'torch'

local BatchNorm = Module:extend('BatchNorm')

local signature = args.signature('BatchNorm', {'num_features', {'eps', 1e-5}, {'momentum', 0.1}, {'affine', true},
  {'track_running_stats', true}, {'device'}, {'dtype'}})

function BatchNorm:init(...)
  local a = signature:bind(...)
  local like = {dtype = a.dtype, device = a.device}
  self.num_features, self.eps, self.affine = a.num_features, a.eps, a.affine
  self.momentum, self.track_running_stats = a.momentum, a.track_running_stats
  self:register_parameter('weight', a.affine and Parameter(torch.ones({a.num_features}, like)) or nil)
  self:register_parameter('bias', a.affine and Parameter(torch.zeros({a.num_features}, like)) or nil)
  if not a.track_running_stats then return end
  self:register_buffer('running_mean', torch.zeros({a.num_features}, like))
  self:register_buffer('running_var', torch.ones({a.num_features}, like))
  self:register_buffer('num_batches_tracked', torch.tensor(0, {dtype = 'int64', device = a.device}))
end

---Sets the running statistics to mean 0 and variance 1.
function BatchNorm:reset_running_stats()
  if not self.track_running_stats then return end
  self.running_mean:zero_()
  self.running_var:fill_(1)
  self.num_batches_tracked:zero_()
end

local function check_dims(self, x)
  local dims = x:dim()
  if self._dims[dims] then return end
  errors.raise('argument', ('%s: expected %s dimensions, got %d'):format(require('rtrain.class').of(self).__name,
    self._dims_text, dims))
end

-- momentum = false is PyTorch's None: the mean over all batches.
local function average_factor(self)
  if not (self.training and self.track_running_stats) then return self.momentum or 0 end
  self.num_batches_tracked:add_(1)
  return self.momentum or 1 / self.num_batches_tracked:item()
end

function BatchNorm:forward(x)
  check_dims(self, x)
  local factor = average_factor(self)
  local uses_batch = self.training or self.running_mean == nil
  return torch.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var, uses_batch, factor, self.eps,
    true)
end

function BatchNorm:extra_repr()
  return repr.fields{{'', self.num_features}, {'eps', self.eps}, {'momentum', self.momentum or nil},
                     {'affine', self.affine}, {'track_running_stats', self.track_running_stats}}
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

return {BatchNorm1d = BatchNorm1d, BatchNorm2d = BatchNorm2d, BatchNorm3d = BatchNorm3d}
