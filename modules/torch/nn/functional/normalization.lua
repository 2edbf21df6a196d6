-- torch/nn/functional/normalization.lua: normalization over batches, channels, groups, neighbours and vectors.

local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local normalization = {}
local defined = checks.definer(normalization)

-- Raises an error if `count` is 1, since statistics of a single value are meaningless. `what` names the values, for the
-- message.
local function check_values(name, what, count, x)
  if count ~= 1 then return end
  errors.raise('argument', ('%s: expected more than 1 %s when training, got input size %s'):format(name, what,
    tostring(x.shape)))
end

local function spatial_count(size)
  local count = 1
  for i = 3, #size do count = count * size[i] end
  return count
end

---Normalizes each channel of (N, C, …). Arguments: input, running_mean (C), running_var (C), {weight (C), bias (C),
---training = false, momentum = 0.1, eps = 1e-5}.
defined('batch_norm', {'input', {'running_mean'}, {'running_var'}, {'weight'}, {'bias'}, {'training', false},
                       {'momentum', 0.1}, {'eps', 1e-5}}, function(p)
  if p.training then
    local size = p.input:size()
    check_values('batch_norm', 'value per channel', size[1] * spatial_count(size), p.input)
  end
  return torch.batch_norm(p.input, p.weight, p.bias, p.running_mean, p.running_var, p.training, p.momentum, p.eps, true)
end)

---Normalizes each channel of each item of (N, C, …) (Ulyanov et al. 2016). Arguments: input, {running_mean (C),
---running_var (C), weight (C), bias (C), use_input_stats = true, momentum = 0.1, eps = 1e-5}.
defined('instance_norm', {'input', {'running_mean'}, {'running_var'}, {'weight'}, {'bias'}, {'use_input_stats', true},
                          {'momentum', 0.1}, {'eps', 1e-5}}, function(p)
  if p.use_input_stats then
    check_values('instance_norm', 'spatial element', spatial_count(p.input:size()), p.input)
  end
  return torch.instance_norm(p.input, p.weight, p.bias, p.running_mean, p.running_var, p.use_input_stats, p.momentum,
    p.eps, true)
end)

---Normalizes over the last dimensions. Arguments: input, normalized_shape (a list), {weight, bias, eps = 1e-5}.
defined('layer_norm', {'input', 'normalized_shape', {'weight'}, {'bias'}, {'eps', 1e-5}}, function(p)
  return torch.layer_norm(p.input, p.normalized_shape, p.weight, p.bias, p.eps)
end)

---x / √(mean of x² over the last dimensions + eps) (Zhang and Sennrich 2019). Arguments: input, normalized_shape (a list),
---{weight, eps (default: the dtype's smallest difference from 1)}.
defined('rms_norm', {'input', 'normalized_shape', {'weight'}, {'eps'}}, function(p)
  return torch.rms_norm(p.input, p.normalized_shape, p.weight, p.eps)
end)

---Normalizes groups of channels of (N, C, …). Arguments: input, num_groups, {weight (C), bias (C), eps = 1e-5}.
defined('group_norm', {'input', 'num_groups', {'weight'}, {'bias'}, {'eps', 1e-5}}, function(p)
  return torch.group_norm(p.input, p.num_groups, p.weight, p.bias, p.eps)
end)

-- Returns the mean of `size` neighbouring channels of (N, C, …), with zeros outside.
local function mean_of_neighbours(x, size)
  local before, after = math.floor(size / 2), math.floor((size - 1) / 2)
  if x:dim() == 3 then
    return torch.avg_pool2d(torch.pad(x:unsqueeze(1), {0, 0, before, after}), {size, 1}, 1):squeeze(1)
  end
  local shape = x:size()
  local flat = torch.pad(x:reshape{shape[1], 1, shape[2], shape[3], -1}, {0, 0, 0, 0, before, after})
  return torch.avg_pool3d(flat, {size, 1, 1}, 1):squeeze(1):reshape(shape)
end

---x / (k + alpha · mean of x² over `size` neighbouring channels)^beta (Krizhevsky et al. 2012). Arguments: input (N, C, …),
---size, alpha = 1e-4, beta = 0.75, k = 1.
defined('local_response_norm', {'input', 'size', {'alpha', 1e-4}, {'beta', 0.75}, {'k', 1}}, function(p)
  local x = p.input
  if x:dim() < 3 then
    errors.raise('argument', ('local_response_norm: expected 3 or more dimensions, got %d'):format(x:dim()))
  end
  checks.count('local_response_norm: size', p.size)
  if x:numel() == 0 then return x end
  return x / mean_of_neighbours(x * x, p.size):mul(p.alpha):add(p.k):pow(p.beta)
end)

---x / max(‖x‖_p, eps) along dim. Arguments: input, p = 2, dim = 1, eps = 1e-12, out = nil.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.functional.normalize(torch.tensor{{3, 4}}):tolist()[1][2] - 0.8 < 1e-6)
---```
defined('normalize', {'input', {'p', 2}, {'dim', 1}, {'eps', 1e-12}, {'out'}}, function(a)
  local norm = a.input:norm(a.p, type(a.dim) == 'table' and a.dim or {a.dim}, true):clamp_min(a.eps)
  return torch.div(a.input, norm:expand_as(a.input), {out = a.out})
end)

return normalization
