-- torch/nn/activation.lua: nonlinearities as modules: the function of the same name in torch.nn.functional, with its
-- options as fields.

local args = require 'rtrain.args'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local F = require 'torch.nn.functional'

-- All numbers but `dim` are Python floats: ELU(alpha=1.0).
local function shown_value(field, value)
  if type(value) == 'number' and field ~= 'dim' then return {field, repr.float(value), true} end
  return {field, value}
end

-- A class that calls F[fn](x, options in the order of `parameters`). `shown` are the fields that print shows.
local function activation(name, fn, parameters, shown)
  local Activation = Module:extend(name)
  local signature = args.signature(name, parameters)

  function Activation:init(...)
    local bound = signature:bind(...)
    for _, field in ipairs(signature.names) do self[field] = bound[field] end
  end

  function Activation:forward(x)
    local options = {}
    for _, field in ipairs(signature.names) do options[field] = self[field] end
    return F[fn](x, options)
  end

  function Activation:extra_repr()
    local fields = {}
    for _, field in ipairs(shown) do
      -- PyTorch leaves `inplace` out unless it is set.
      if field ~= 'inplace' or self.inplace then fields[#fields + 1] = shown_value(field, self[field]) end
    end
    return repr.fields(fields)
  end
  return Activation
end

local INPLACE = {{'inplace', false}}

---max(x, 0). Arguments: inplace = false.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.ReLU()(torch.tensor{-1, 2}):sum():item() == 2)
---```
---@class nn.ReLU: nn.Module
local ReLU = activation('ReLU', 'relu', INPLACE, {'inplace'})

---x · Φ(x). Arguments: approximate = 'none' or 'tanh'.
---@class nn.GELU: nn.Module
local GELU = activation('GELU', 'gelu', {{'approximate', 'none'}}, {'approximate'})

---exp(x) / Σ exp(x) along `dim`.
---@class nn.Softmax: nn.Module
local Softmax = activation('Softmax', 'softmax', {'dim'}, {'dim'})

---log(exp(x) / Σ exp(x)) along `dim`.
---@class nn.LogSoftmax: nn.Module
local LogSoftmax = activation('LogSoftmax', 'log_softmax', {'dim'}, {'dim'})

return {
  ReLU = ReLU, GELU = GELU, Softmax = Softmax, LogSoftmax = LogSoftmax,
  ReLU6 = activation('ReLU6', 'relu6', INPLACE, {'inplace'}),
  SiLU = activation('SiLU', 'silu', INPLACE, {'inplace'}),
  Mish = activation('Mish', 'mish', INPLACE, {'inplace'}),
  Hardswish = activation('Hardswish', 'hardswish', INPLACE, {'inplace'}),
  Sigmoid = activation('Sigmoid', 'sigmoid', {}, {}),
  LogSigmoid = activation('LogSigmoid', 'logsigmoid', {}, {}),
  Tanh = activation('Tanh', 'tanh', {}, {}),
  Softplus = activation('Softplus', 'softplus', {{'beta', 1}, {'threshold', 20}}, {'beta', 'threshold'}),
  LeakyReLU = activation('LeakyReLU', 'leaky_relu', {{'negative_slope', 0.01}, {'inplace', false}},
    {'negative_slope', 'inplace'}),
  ELU = activation('ELU', 'elu', {{'alpha', 1}, {'inplace', false}}, {'alpha', 'inplace'}),
}
