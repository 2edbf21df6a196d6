-- torch/nn/functional/activation.lua: activations: each takes a tensor of any shape and returns a tensor of that shape.

local args = require 'base.args'
local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local activation = {}
local defined = checks.definer(activation)

-- Operators without other options that also exist in place: relu(x), relu(x, {inplace = true}).
for _, name in ipairs{'relu', 'relu6', 'silu', 'mish', 'hardswish', 'selu', 'hardsigmoid'} do
  local in_place = name .. '_'
  local signature = args.signature(name, {'input', {'inplace', false}})
  activation[name] = function(input, options)
    if options == nil then return torch[name](input) end
    return torch[signature:bind(input, options).inplace and in_place or name](input)
  end
end

-- Likewise for operators with one option.
for _, entry in ipairs{{'celu', {'alpha', 1}}, {'elu', {'alpha', 1}}, {'leaky_relu', {'negative_slope', 0.01}}} do
  local name, option = entry[1], entry[2]
  local in_place = name .. '_'
  defined(name, {'input', option, {'inplace', false}}, function(p)
    return torch[p.inplace and in_place or name](p.input, p[option[1]])
  end)
end

---min(max(x, min_val), max_val). Arguments: input, min_val = -1, max_val = 1, inplace = false.
defined('hardtanh', {'input', {'min_val', -1}, {'max_val', 1}, {'inplace', false}}, function(p)
  if p.min_val > p.max_val then
    errors.raise('argument', ('hardtanh: min_val = %s is above max_val = %s'):format(p.min_val, p.max_val))
  end
  return torch[p.inplace and 'hardtanh_' or 'hardtanh'](p.input, p.min_val, p.max_val)
end)

---x where it is above the threshold, else `value`. Arguments: input, threshold, value, inplace = false.
defined('threshold', {'input', 'threshold', 'value', {'inplace', false}}, function(p)
  return torch[p.inplace and 'threshold_' or 'threshold'](p.input, p.threshold, p.value)
end)

---Multiplies x, where it is negative, by a random slope between lower and upper, outside training by their mean (Xu et
---al. 2015). Arguments: input, lower = 1/8, upper = 1/3, training = false, inplace = false.
defined('rrelu', {'input', {'lower', 1 / 8}, {'upper', 1 / 3}, {'training', false}, {'inplace', false}}, function(p)
  return torch[p.inplace and 'rrelu_' or 'rrelu'](p.input, p.lower, p.upper, p.training)
end)

---x · Φ(x) (Hendrycks and Gimpel 2016). Arguments: input, {approximate = 'none' or 'tanh', out}.
defined('gelu', {'input', {'approximate', 'none'}, {'out'}}, function(p)
  if p.approximate == 'none' and p.out == nil then return torch.gelu(p.input) end
  return torch.gelu(p.input, {approximate = p.approximate, out = p.out})
end)

---log(sigmoid(x)). Arguments: input, {out}.
defined('logsigmoid', {'input', {'out'}}, function(p) return torch.log_sigmoid(p.input, {out = p.out}) end)

---x / (1 + |x|). Arguments: input.
defined('softsign', {'input'}, function(p) return p.input / (p.input:abs() + 1) end)

---x - tanh(x). Arguments: input.
defined('tanhshrink', {'input'}, function(p) return p.input - p.input:tanh() end)

-- PyTorch's choice if no dimension is given: deprecated there, kept for equal results.
local function implicit_dim(input)
  local dims = input:dim()
  return (dims == 0 or dims == 1 or dims == 3) and 0 or 1
end

local function along_dim(operator, input, p)
  local dim = p.dim or implicit_dim(input)
  if p.dtype then return torch[operator](input, dim, p.dtype) end
  return torch[operator](input, dim)
end

local SOFTMAX = {'input', {'dim'}, {'dtype'}}

---exp(x) / Σ exp(x) along dim. Arguments: input, dim, {dtype}.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.functional.softmax(torch.zeros(2, 4), 1):eq(0.25):all():item())
---```
defined('softmax', SOFTMAX, function(p) return along_dim('softmax', p.input, p) end)

---log(softmax(x)). Arguments: input, dim, {dtype}.
defined('log_softmax', SOFTMAX, function(p) return along_dim('log_softmax', p.input, p) end)

---softmax(-x). Arguments: input, dim, {dtype}.
defined('softmin', SOFTMAX, function(p) return along_dim('softmax', -p.input, p) end)

---Returns a sample of the Gumbel-softmax distribution (Jang et al. 2017). With `hard` the values are one-hot and the
---gradients those of the soft sample. Arguments: logits (…, C), tau = 1, hard = false, eps (without effect), dim = -1.
---
---```lua
---local torch = require 'torch'
---local y = torch.nn.functional.gumbel_softmax(torch.zeros(3, 4), {hard = true})
---assert(y:sum(1):eq(1):all():item() and y:max():item() == 1)
---```
defined('gumbel_softmax', {'logits', {'tau', 1}, {'hard', false}, {'eps', 1e-10}, {'dim', -1}}, function(p)
  local gumbels = -torch.empty_like(p.logits):exponential_():log()
  local soft = ((p.logits + gumbels) / p.tau):softmax(p.dim)
  if not p.hard then return soft end
  local _, index = soft:max(p.dim, true)
  return torch.zeros_like(p.logits):scatter_(p.dim, index, 1) - soft:detach() + soft
end)

return activation
