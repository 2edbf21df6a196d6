-- torch/nn/init.lua: torch.nn.init: fill tensors in place, with PyTorch's formulas and order of random draws.
--
-- Every function returns the tensor that it was given, and records nothing for autograd.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
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

local function defined(name, parameters, fn)
  local signature = args.signature(name, parameters)
  init[name] = function(...) return fn(signature:bind(...)) end
end

---Numbers from the uniform distribution on [a, b). Arguments: tensor, a = 0, b = 1, generator.
defined('uniform_', {'tensor', {'a', 0}, {'b', 1}, {'generator'}}, function(p)
  return draw(p, 'uniform_', p.a, p.b)
end)

---Numbers from the normal distribution. Arguments: tensor, mean = 0, std = 1, generator.
defined('normal_', {'tensor', {'mean', 0}, {'std', 1}, {'generator'}}, function(p)
  return draw(p, 'normal_', p.mean, p.std)
end)

---Sets every element to the value.
---@param tensor torch.Tensor
---@param value number
---@return torch.Tensor tensor the same one
function init.constant_(tensor, value) return fill(tensor, 'fill_', value) end

---@param tensor torch.Tensor
---@return torch.Tensor tensor
function init.zeros_(tensor) return fill(tensor, 'zero_') end

---@param tensor torch.Tensor
---@return torch.Tensor tensor
function init.ones_(tensor) return fill(tensor, 'fill_', 1) end

---The identity matrix, in a tensor of two dimensions.
---@param tensor torch.Tensor
---@return torch.Tensor tensor
function init.eye_(tensor)
  if tensor:dim() ~= 2 then errors.raise('argument', 'eye_: only tensors with 2 dimensions are supported') end
  local size = tensor:size()
  return fill(tensor, 'copy_', torch.eye(size[1], size[2]))
end

local function erf(x)
  return torch.erf(torch.tensor(x, {dtype = 'float64'})):item()
end

---Numbers from the normal distribution cut off at a and b. Arguments: tensor, mean = 0, std = 1, a = -2, b = 2,
---generator.
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

---The recommended gain for a nonlinearity.
---@param nonlinearity string
---@param param? number slope of leaky_relu (default 0.01)
---@return number
function init.calculate_gain(nonlinearity, param)
  if nonlinearity == 'leaky_relu' then
    local slope = param or 0.01
    return math.sqrt(2 / (1 + slope * slope))
  end
  if GAINS[nonlinearity] then return GAINS[nonlinearity] end
  return args.one_of('calculate_gain: nonlinearity', nonlinearity,
    {'conv1d', 'conv2d', 'conv3d', 'leaky_relu', 'linear', 'relu', 'selu', 'sigmoid', 'tanh'})
end

local function fans(tensor)
  local size = tensor:size()
  if #size < 2 then
    errors.raise('argument', 'fan in and fan out need a tensor with at least 2 dimensions')
  end
  local receptive = 1
  for i = 3, #size do receptive = receptive * size[i] end
  return size[2] * receptive, size[1] * receptive
end

local function kaiming_std(p)
  args.one_of('kaiming: mode', p.mode, {'fan_in', 'fan_out'})
  local fan_in, fan_out = fans(p.tensor)
  local gain = init.calculate_gain(p.nonlinearity, p.a)
  return gain / math.sqrt(p.mode == 'fan_in' and fan_in or fan_out)
end

local KAIMING = {'tensor', {'a', 0}, {'mode', 'fan_in'}, {'nonlinearity', 'leaky_relu'}, {'generator'}}

---He et al. 2015. Arguments: tensor, a = 0, mode = 'fan_in', nonlinearity = 'leaky_relu', generator.
---
---```lua
---local torch = require 'torch'
---local weight = torch.nn.init.kaiming_uniform_(torch.empty(8, 6), {nonlinearity = 'relu'})
---assert(weight:abs():max():item() <= 1)  -- √2 · √(3 / 6)
---```
defined('kaiming_uniform_', KAIMING, function(p)
  local bound = math.sqrt(3) * kaiming_std(p)
  return draw(p, 'uniform_', -bound, bound)
end)

---He et al. 2015. Arguments: tensor, a = 0, mode = 'fan_in', nonlinearity = 'leaky_relu', generator.
defined('kaiming_normal_', KAIMING, function(p)
  return draw(p, 'normal_', 0, kaiming_std(p))
end)

local function xavier_std(p)
  local fan_in, fan_out = fans(p.tensor)
  return p.gain * math.sqrt(2 / (fan_in + fan_out))
end

---Glorot and Bengio 2010. Arguments: tensor, gain = 1, generator.
defined('xavier_uniform_', {'tensor', {'gain', 1}, {'generator'}}, function(p)
  local bound = math.sqrt(3) * xavier_std(p)
  return draw(p, 'uniform_', -bound, bound)
end)

---Glorot and Bengio 2010. Arguments: tensor, gain = 1, generator.
defined('xavier_normal_', {'tensor', {'gain', 1}, {'generator'}}, function(p)
  return draw(p, 'normal_', 0, xavier_std(p))
end)

return require 'rtrain.namespace'('torch.nn.init', nil, init)
