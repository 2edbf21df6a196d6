-- torch/nn/sync_batchnorm.lua: SyncBatchNorm.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local BatchNorm = require('torch.nn.batchnorm')._BatchNorm
local inputs = require 'torch.nn.inputs'
local F = require 'torch.nn.functional'
local Function = require('torch.autograd.function').Function
local torch = require 'torch'

-- Sums a tensor over the ranks of a group. Every rank uses the sum, so its gradient is the sum of the ranks' gradients.
local SumOverRanks = Function:extend('SumOverRanks')

function SumOverRanks.forward(ctx, x, group)
  ctx.group = group
  return torch.distributed.all_reduce(x:clone(), {group = group})
end

function SumOverRanks.backward(ctx, grad)
  return torch.distributed.all_reduce(grad:contiguous():clone(), {group = ctx.group}), nil
end

---BatchNorm over the batches of all ranks: mean and variance of (N, C, …) are those of the whole batch, and so are
---gradients. With one rank, or in evaluation mode, it is BatchNorm. Arguments: num_features, {eps = 1e-5, momentum =
---0.1, affine = true, track_running_stats = true, process_group (a result of torch.distributed.new_group; nil: all
---ranks), device, dtype}. PyTorch's class runs only on GPUs, this one also on CPUs.
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
---assert(tostring(net[2]):match '^SyncBatchNorm' and net(torch.randn(4, 2)).shape[2] == 3)
---```
---@class nn.SyncBatchNorm: nn.BatchNorm1d
---@overload fun(num_features: integer, options?: table): nn.SyncBatchNorm
local SyncBatchNorm = BatchNorm:extend('SyncBatchNorm')

local signature = args.signature('SyncBatchNorm', {'num_features', {'eps', 1e-5}, {'momentum', 0.1}, {'affine', true},
  {'track_running_stats', true}, {'process_group'}, {'device'}, {'dtype'}})

function SyncBatchNorm:init(...)
  local a = signature:bind(...)
  self:_set_up(a)
  self.process_group = a.process_group
end

function SyncBatchNorm:_check_dims(x)
  if x:dim() < 2 then
    errors.raise('argument', ('SyncBatchNorm: expected at least 2 dimensions, got %d'):format(x:dim()))
  end
end

local function is_alone(group)
  local distributed = torch.distributed
  return not distributed.is_initialized() or distributed.get_world_size(group) <= 1
end

local function update_statistics(self, mean, variance, count, factor)
  if self.running_mean == nil then return end
  torch.no_grad(function()
    local unbiased = variance * (count / (count - 1))
    self.running_mean:lerp_(mean:to{dtype = self.running_mean.dtype}, factor)
    self.running_var:lerp_(unbiased:to{dtype = self.running_var.dtype}, factor)
  end)
end

-- Uses one sum over the ranks for the mean and one for the squared distances from it, since a mean of squares would
-- lose precision.
local function synchronized(self, x, factor)
  local dims, shape = {0}, {1, -1}
  for dim = 2, x:dim() - 1 do dims[dim], shape[dim + 1] = dim, 1 end
  local own = x:numel() / x:size(1)
  local wide = (x.dtype == 'float16' or x.dtype == 'bfloat16') and x:to{dtype = 'float32'} or x
  local sums = SumOverRanks.apply(torch.cat({wide:sum(dims), wide:new_full({1}, own)}), self.process_group)
  local count = sums[self.num_features]:detach():double()
  local mean = sums:narrow(0, 0, self.num_features) / count
  local centred = wide - mean:view(shape)
  local variance = SumOverRanks.apply((centred * centred):sum(dims), self.process_group) / count
  update_statistics(self, mean:detach(), variance:detach(), count, factor)
  local out = centred * (variance + self.eps):rsqrt():view(shape)
  if self.weight ~= nil then out = out * self.weight:view(shape) + self.bias:view(shape) end
  return out:to{dtype = x.dtype}
end

local take = inputs{'input'}

function SyncBatchNorm:forward(...)
  local x = take(self, ...)
  self:_check_dims(x)
  local factor = self:_average_factor()
  if self.training and not is_alone(self.process_group) then return synchronized(self, x, factor) end
  return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
    self.training or self.running_mean == nil, factor, self.eps)
end

local function converted(norm, process_group)
  local new = SyncBatchNorm(norm.num_features, {eps = norm.eps, momentum = norm.momentum, affine = norm.affine,
    track_running_stats = norm.track_running_stats, process_group = process_group})
  for _, name in ipairs{'weight', 'bias', 'running_mean', 'running_var', 'num_batches_tracked'} do
    if norm[name] ~= nil then new[name] = norm[name] end
  end
  rawset(new, 'training', norm.training)
  return new
end

---Returns the module, with every BatchNorm1d, 2d, 3d below it replaced by a SyncBatchNorm of the same parameters. If
---the module itself is one of these, returns its replacement.
---@param module nn.Module
---@param process_group? ProcessGroup nil: all ranks
---@return nn.Module
function SyncBatchNorm.convert_sync_batchnorm(module, process_group)
  if class.is(module, BatchNorm) and not class.is(module, SyncBatchNorm) then return converted(module, process_group) end
  for name, child in module:named_children() do
    local new = SyncBatchNorm.convert_sync_batchnorm(child, process_group)
    if new ~= child then module:set_submodule(name, new) end
  end
  return module
end

return {SyncBatchNorm = SyncBatchNorm}
