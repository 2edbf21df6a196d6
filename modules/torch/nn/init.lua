-- torch/nn/init.lua: torch.nn.init: fill tensors in place, with PyTorch's formulas and order of random draws.
--
-- Every function returns its tensor argument, and records nothing for autograd. Of a sharded parameter it fills this rank's
-- rows; those that depend on all rows refuse it.

local args = require 'base.args'
local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

local init = {}

-- Runs the in-place method without recording it, and returns the tensor.
local function fill(tensor, method, ...)
  torch.no_grad(tensor[method], tensor, ...)
  return tensor
end

local function draw(p, method, first, second)
  return fill(p.tensor, method, first, second, {generator = p.generator})
end

local function shard_of(tensor) return shards.has_replaced() and shards.of(tensor) or nil end

local function check_whole(name, tensor)
  local shard = shard_of(tensor)
  if not shard then return end
  errors.raise('unsupported', ("%s: '%s' is sharded (fully_shard), and the values of its rows depend on those of the others: "
    .. 'fill it before the module is sharded'):format(name, shard.name))
end

local defined = checks.definer(init)

---Fills with numbers from the uniform distribution on [a, b). Arguments: tensor, a = 0, b = 1, generator.
defined('uniform_', {'tensor', {'a', 0}, {'b', 1}, {'generator'}}, function(p)
  return draw(p, 'uniform_', p.a, p.b)
end)

---Fills with numbers from the normal distribution. Arguments: tensor, mean = 0, std = 1, generator.
defined('normal_', {'tensor', {'mean', 0}, {'std', 1}, {'generator'}}, function(p)
  return draw(p, 'normal_', p.mean, p.std)
end)

---Sets every element to the value. Arguments: tensor, val.
defined('constant_', {'tensor', 'val'}, function(p) return fill(p.tensor, 'fill_', p.val) end)

---Sets every element to 0. Arguments: tensor.
defined('zeros_', {'tensor'}, function(p) return fill(p.tensor, 'zero_') end)

---Sets every element to 1. Arguments: tensor.
defined('ones_', {'tensor'}, function(p) return fill(p.tensor, 'fill_', 1) end)

---Fills with the identity matrix. Arguments: tensor of 2 dimensions.
defined('eye_', {'tensor'}, function(p)
  check_whole('eye_', p.tensor)
  if p.tensor:dim() ~= 2 then errors.raise('argument', 'eye_: only tensors with 2 dimensions are supported') end
  local size = p.tensor:size()
  return fill(p.tensor, 'copy_', torch.eye(size[1], size[2]))
end)

local function erf(x)
  return torch.erf(torch.tensor(x, {dtype = 'float64'})):item()
end

---Fills with numbers from the normal distribution truncated at a and b. Arguments: tensor, mean = 0, std = 1, a = -2, b
---= 2, generator.
defined('trunc_normal_', {'tensor', {'mean', 0}, {'std', 1}, {'a', -2}, {'b', 2}, {'generator'}}, function(p)
  local function cdf(x) return (1 + erf(x / math.sqrt(2))) / 2 end
  local low, high = cdf((p.a - p.mean) / p.std), cdf((p.b - p.mean) / p.std)
  torch.no_grad(function()
    draw(p, 'uniform_', 2 * low - 1, 2 * high - 1)
    p.tensor:erfinv_()
    p.tensor:mul_(p.std * math.sqrt(2)):add_(p.mean)
    p.tensor:clamp_(p.a, p.b)
  end)
  return p.tensor
end)

local GAINS = {linear = 1, conv1d = 1, conv2d = 1, conv3d = 1, conv_transpose1d = 1, conv_transpose2d = 1,
               conv_transpose3d = 1, sigmoid = 1, tanh = 5 / 3, relu = math.sqrt(2), selu = 3 / 4}

---Returns the recommended gain for a nonlinearity. Arguments: nonlinearity, param (the slope of leaky_relu, default
---0.01).
args.definer(init)('calculate_gain', {'nonlinearity', {'param'}}, function(p)
  if p.nonlinearity == 'leaky_relu' then
    local slope = p.param or 0.01
    return math.sqrt(2 / (1 + slope * slope))
  end
  if GAINS[p.nonlinearity] then return GAINS[p.nonlinearity] end
  return args.one_of('calculate_gain: nonlinearity', p.nonlinearity,
    {'conv1d', 'conv2d', 'conv3d', 'leaky_relu', 'linear', 'relu', 'selu', 'sigmoid', 'tanh'})
end)

local function fans(tensor)
  local shard = shard_of(tensor)
  local size = shard and shard.sizes or tensor:size()
  if #size < 2 then
    errors.raise('argument', 'fan in and fan out need a tensor with at least 2 dimensions')
  end
  local receptive = 1
  for i = 3, #size do receptive = receptive * size[i] end
  return size[2] * receptive, size[1] * receptive
end

local function is_empty(tensor) return tensor:numel() == 0 end

local function kaiming_std(p)
  args.one_of('kaiming: mode', p.mode, {'fan_in', 'fan_out'})
  local fan_in, fan_out = fans(p.tensor)
  local gain = init.calculate_gain(p.nonlinearity, p.a)
  return gain / math.sqrt(p.mode == 'fan_in' and fan_in or fan_out)
end

local KAIMING = {'tensor', {'a', 0}, {'mode', 'fan_in'}, {'nonlinearity', 'leaky_relu'}, {'generator'}}

---Fills by He et al. 2015. Arguments: tensor, a = 0, mode = 'fan_in', nonlinearity = 'leaky_relu', generator.
---
---```lua
---local torch = require 'torch'
---local weight = torch.nn.init.kaiming_uniform_(torch.empty(8, 6), {nonlinearity = 'relu'})
---assert(weight:abs():max():item() <= 1)  -- √2 · √(3 / 6)
---```
defined('kaiming_uniform_', KAIMING, function(p)
  if is_empty(p.tensor) then return p.tensor end
  local bound = math.sqrt(3) * kaiming_std(p)
  return draw(p, 'uniform_', -bound, bound)
end)

---Fills by He et al. 2015. Arguments: tensor, a = 0, mode = 'fan_in', nonlinearity = 'leaky_relu', generator.
defined('kaiming_normal_', KAIMING, function(p)
  if is_empty(p.tensor) then return p.tensor end
  return draw(p, 'normal_', 0, kaiming_std(p))
end)

local function xavier_std(p)
  local fan_in, fan_out = fans(p.tensor)
  return p.gain * math.sqrt(2 / (fan_in + fan_out))
end

---Fills by Glorot and Bengio 2010. Arguments: tensor, gain = 1, generator.
defined('xavier_uniform_', {'tensor', {'gain', 1}, {'generator'}}, function(p)
  local bound = math.sqrt(3) * xavier_std(p)
  return draw(p, 'uniform_', -bound, bound)
end)

---Fills by Glorot and Bengio 2010. Arguments: tensor, gain = 1, generator.
defined('xavier_normal_', {'tensor', {'gain', 1}, {'generator'}}, function(p)
  return draw(p, 'normal_', 0, xavier_std(p))
end)

---Fills with a (semi-)orthogonal matrix: dimension 0 by all others (Saxe et al. 2014). Arguments: tensor, gain = 1,
---generator.
---
---```lua
---local torch = require 'torch'
---local w = torch.nn.init.orthogonal_(torch.empty(3, 5))
---assert(torch.allclose(w:matmul(w:t()), torch.eye(3), {atol = 1e-5}))
---```
defined('orthogonal_', {'tensor', {'gain', 1}, {'generator'}}, function(p)
  local tensor = p.tensor
  check_whole('orthogonal_', tensor)
  if tensor:dim() < 2 then errors.raise('argument', 'orthogonal_: only tensors with 2 or more dimensions are supported') end
  if tensor:numel() == 0 then return tensor end
  local rows = tensor:size(0)
  local columns = tensor:numel() / rows
  torch.no_grad(function()
    local random = tensor:new_empty{rows, columns}:normal_(0, 1, {generator = p.generator})
    local q, r = torch.linalg_qr(rows < columns and random:t() or random)
    q = q * torch.diag(r, 0):sign()
    tensor:copy_((rows < columns and q:t() or q):reshape(tensor:size()) * p.gain)
  end)
  return tensor
end)

---Fills a convolution's weight so that it returns its input channels (Zagoruyko and Komodakis 2017). Arguments: tensor
---of 3, 4 or 5 dimensions, groups = 1.
defined('dirac_', {'tensor', {'groups', 1}}, function(p)
  check_whole('dirac_', p.tensor)
  local size = p.tensor:size()
  if #size < 3 or #size > 5 then
    errors.raise('argument', 'dirac_: only tensors with 3, 4 or 5 dimensions are supported')
  end
  if size[1] % p.groups ~= 0 then errors.raise('argument', 'dirac_: groups must divide dimension 0') end
  local each = size[1] / p.groups
  torch.no_grad(function()
    p.tensor:zero_()
    for group = 0, p.groups - 1 do
      for channel = 0, math.min(each, size[2]) - 1 do
        local place = p.tensor[group * each + channel][channel]
        for i = 3, #size do place = place:select(0, math.floor(size[i] / 2)) end
        place:fill_(1)
      end
    end
  end)
  return p.tensor
end)

---Fills with numbers from N(0, std), with the given share of each column set to zero (Martens 2010). Arguments: tensor
---of 2 dimensions, sparsity, std = 0.01, generator.
defined('sparse_', {'tensor', 'sparsity', {'std', 0.01}, {'generator'}}, function(p)
  check_whole('sparse_', p.tensor)
  if p.tensor:dim() ~= 2 then errors.raise('argument', 'sparse_: only tensors with 2 dimensions are supported') end
  local rows, columns = p.tensor:size(0), p.tensor:size(1)
  local zeros = math.ceil(p.sparsity * rows)
  torch.no_grad(function()
    draw(p, 'normal_', 0, p.std)
    for column = 0, columns - 1 do
      p.tensor:select(1, column):index_fill_(0, torch.randperm(rows):narrow(0, 0, zeros), 0)
    end
  end)
  return p.tensor
end)

return require 'base.namespace'('torch.nn.init', {absent = require('torch.nn.absent').of 'torch.nn.init'}, init)
