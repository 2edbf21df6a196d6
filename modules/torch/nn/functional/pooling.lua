-- torch/nn/functional/pooling.lua: pooling: the largest values or means of windows of (N, C, …) or (C, …).

local errors = require 'base.errors'
local tuple = require 'torch.nn.tuple'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local pooling = {}
local defined = checks.definer(pooling)

---max_pool1d, max_pool2d, max_pool3d: the largest value of each window of (N, C, …). Arguments: input, kernel_size,
---stride = kernel_size, padding = 0, dilation = 1, ceil_mode = false, return_indices = false. The names with
---`_with_indices` also return the flat index of each value.
for dims = 1, 3 do
  local name = ('max_pool%dd'):format(dims)
  local function window(p) return p.kernel_size, p.stride or p.kernel_size, p.padding, p.dilation, p.ceil_mode end
  local parameters = {'input', 'kernel_size', {'stride'}, {'padding', 0}, {'dilation', 1}, {'ceil_mode', false},
                      {'return_indices', false}}
  defined(name, parameters, function(p)
    return torch[p.return_indices and name .. '_with_indices' or name](p.input, window(p))
  end)
  defined(name .. '_with_indices', parameters, function(p)
    return torch[name .. '_with_indices'](p.input, window(p))
  end)
end

-- Converts {5, none} → {5, size of the input's dimension}; one number applies to all dimensions.
local function output_size_of(input, output_size, dims, name)
  local sizes = tuple(output_size, dims, name .. ': output_size')
  local out = {}
  for i = 1, dims do out[i] = sizes[i] == torch.none and input:size(i - 1 - dims) or sizes[i] end
  return out
end

---adaptive_avg_pool2d, adaptive_avg_pool3d: means of windows such that the output has the given size. Arguments: input,
---output_size: a number, or a list in which torch.none keeps the input's size.
for dims = 2, 3 do
  local name = ('adaptive_avg_pool%dd'):format(dims)
  defined(name, {'input', 'output_size'}, function(p)
    return torch[name](p.input, output_size_of(p.input, p.output_size, dims, name))
  end)
end

---adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d: largest values such that the output has the given size.
---Arguments: input, output_size, return_indices = false. The names with `_with_indices` also return the indices.
for dims = 1, 3 do
  local name = ('adaptive_max_pool%dd'):format(dims)
  local function pool(p) return torch[name](p.input, output_size_of(p.input, p.output_size, dims, name)) end
  defined(name .. '_with_indices', {'input', 'output_size', {'return_indices', false}}, pool)
  defined(name, {'input', 'output_size', {'return_indices', false}}, function(p)
    if p.return_indices then return pool(p) end
    return (pool(p))
  end)
end

local function fractional_size(p, dims, name)
  if p.output_size ~= nil then return tuple(p.output_size, dims, name .. ': output_size') end
  if p.output_ratio == nil then
    errors.raise('argument', name .. ': output_size or output_ratio is needed')
  end
  local out = {}
  for i, ratio in ipairs(tuple(p.output_ratio, dims, name .. ': output_ratio')) do
    out[i] = math.floor(p.input:size(i - 1 - dims) * ratio)
  end
  return out
end

---fractional_max_pool2d, fractional_max_pool3d: the largest values of windows at pseudo-random places (Graham 2015).
---Arguments: input, kernel_size, {output_size, output_ratio (one of the two), return_indices = false, _random_samples
---(N, C, 2 or 3) in 0 … 1}. The names with `_with_indices` also return the indices.
for dims = 2, 3 do
  local name = ('fractional_max_pool%dd'):format(dims)
  local function pool(p)
    local x, size = p.input, fractional_size(p, dims, name)
    local batch = x:dim() == dims + 1 and 1 or x:size(0)
    local samples = p._random_samples
      or torch.rand({batch, x:size(-dims - 1), dims}, {dtype = x.dtype, device = x.device})
    return torch[name](x, tuple(p.kernel_size, dims, name .. ': kernel_size'), size, samples)
  end
  local parameters = {'input', 'kernel_size', {'output_size'}, {'output_ratio'}, {'return_indices', false},
                      {'_random_samples'}}
  defined(name .. '_with_indices', parameters, pool)
  defined(name, parameters, function(p)
    if p.return_indices then return pool(p) end
    return (pool(p))
  end)
end

local function check_unpooled(name, size, i, default, stride)
  if size > default - stride and size < default + stride then return end
  errors.raise('argument', ('%s: output_size[%d] = %d must lie between %d and %d'):format(name, i, size,
    default - stride + 1, default + stride - 1))
end

local function unpooled_size(p, dims, name)
  local kernel = tuple(p.kernel_size, dims, name .. ': kernel_size')
  local stride = tuple(p.stride or p.kernel_size, dims, name .. ': stride')
  local padding = tuple(p.padding, dims, name .. ': padding')
  local asked, out = p.output_size and checks.sizes(name .. ': output_size', p.output_size), {}
  local offset = asked and #asked == dims + 2 and 2 or 0
  if asked and #asked ~= dims + offset then
    errors.raise('argument', ('%s: output_size is a list of %d or %d numbers'):format(name, dims, dims + 2))
  end
  for i = 1, dims do
    local default = (p.input:size(i - 1 - dims) - 1) * stride[i] + kernel[i] - 2 * padding[i]
    out[i] = asked and asked[i + offset] or default
    check_unpooled(name, out[i], i, default, stride[i])
  end
  return out, stride, padding
end

local UNPOOL = {'input', 'indices', 'kernel_size', {'stride'}, {'padding', 0}, {'output_size'}}

---Puts values back at the indices from max_pool1d, zeros elsewhere. Arguments: input (N, C, L), indices,
---kernel_size, {stride = kernel_size, padding = 0, output_size}.
defined('max_unpool1d', UNPOOL, function(p)
  local size = unpooled_size(p, 1, 'max_unpool1d')
  return torch.max_unpool2d(p.input:unsqueeze(-1), p.indices:unsqueeze(-1), {size[1], 1}):squeeze(-1)
end)

---Puts values back at the indices from max_pool2d; arguments as max_unpool1d.
---
---```lua
---local torch = require 'torch'
---local F = torch.nn.functional
---local y, indices = F.max_pool2d(torch.arange(16):float():view{1, 1, 4, 4}, 2, {return_indices = true})
---assert(F.max_unpool2d(y, indices, 2):sum():item() == 5 + 7 + 13 + 15)
---```
defined('max_unpool2d', UNPOOL, function(p)
  return torch.max_unpool2d(p.input, p.indices, (unpooled_size(p, 2, 'max_unpool2d')))
end)

---Puts values back at the indices from max_pool3d; arguments as max_unpool1d.
defined('max_unpool3d', UNPOOL, function(p)
  local size, stride, padding = unpooled_size(p, 3, 'max_unpool3d')
  return torch.max_unpool3d(p.input, p.indices, size, stride, padding)
end)

---lp_pool1d, lp_pool2d, lp_pool3d: (Σ xᵖ)^(1/p) of each window. Arguments: input, norm_type (p), kernel_size, stride =
---kernel_size, ceil_mode = false.
for dims = 1, 3 do
  local name, mean = ('lp_pool%dd'):format(dims), ('avg_pool%dd'):format(dims)
  defined(name, {'input', 'norm_type', 'kernel_size', {'stride'}, {'ceil_mode', false}}, function(p)
    local kernel, count = tuple(p.kernel_size, dims, name .. ': kernel_size'), 1
    for _, extent in ipairs(kernel) do count = count * extent end
    local out = torch[mean](p.input:pow(p.norm_type), kernel, p.stride or kernel, 0, p.ceil_mode)
    return (out:sign() * out:abs():relu()):mul(count):pow(1 / p.norm_type)
  end)
end

return pooling
