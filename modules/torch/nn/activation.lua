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

---max(x, 0), of any shape. Arguments: inplace = false.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.ReLU()(torch.tensor{-1, 2}):sum():item() == 2)
---```
---@class nn.ReLU: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.ReLU
local ReLU = activation('ReLU', 'relu', INPLACE, {'inplace'})

---x · Φ(x) (Hendrycks and Gimpel 2016). Arguments: approximate = 'none' or 'tanh'.
---@class nn.GELU: nn.Module
---@overload fun(options?: {approximate: string}): nn.GELU
local GELU = activation('GELU', 'gelu', {{'approximate', 'none'}}, {'approximate'})

---exp(x) / Σ exp(x) along `dim`.
---@class nn.Softmax: nn.Module
---@overload fun(dim: integer): nn.Softmax
local Softmax = activation('Softmax', 'softmax', {'dim'}, {'dim'})

---log(exp(x) / Σ exp(x)) along `dim`.
---@class nn.LogSoftmax: nn.Module
---@overload fun(dim: integer): nn.LogSoftmax
local LogSoftmax = activation('LogSoftmax', 'log_softmax', {'dim'}, {'dim'})

---min(max(x, 0), 6).
---@class nn.ReLU6: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.ReLU6
local ReLU6 = activation('ReLU6', 'relu6', INPLACE, {'inplace'})

---x · sigmoid(x), also known as swish.
---@class nn.SiLU: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.SiLU
local SiLU = activation('SiLU', 'silu', INPLACE, {'inplace'})

---x · tanh(softplus(x)) (Misra 2019).
---@class nn.Mish: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.Mish
local Mish = activation('Mish', 'mish', INPLACE, {'inplace'})

---x · min(max(x + 3, 0), 6) / 6 (Howard et al. 2019).
---@class nn.Hardswish: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.Hardswish
local Hardswish = activation('Hardswish', 'hardswish', INPLACE, {'inplace'})

---1 / (1 + exp(-x)).
---@class nn.Sigmoid: nn.Module
---@overload fun(): nn.Sigmoid
local Sigmoid = activation('Sigmoid', 'sigmoid', {}, {})

---log(1 / (1 + exp(-x))).
---@class nn.LogSigmoid: nn.Module
---@overload fun(): nn.LogSigmoid
local LogSigmoid = activation('LogSigmoid', 'logsigmoid', {}, {})

---@class nn.Tanh: nn.Module
---@overload fun(): nn.Tanh
local Tanh = activation('Tanh', 'tanh', {}, {})

---log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold. Arguments: beta = 1, threshold = 20.
---@class nn.Softplus: nn.Module
---@overload fun(options?: {beta: number, threshold: number}): nn.Softplus
local Softplus = activation('Softplus', 'softplus', {{'beta', 1}, {'threshold', 20}}, {'beta', 'threshold'})

---x, times negative_slope where it is below 0. Arguments: negative_slope = 0.01, inplace = false.
---@class nn.LeakyReLU: nn.Module
---@overload fun(negative_slope?: number, options?: {inplace: boolean}): nn.LeakyReLU
local LeakyReLU = activation('LeakyReLU', 'leaky_relu', {{'negative_slope', 0.01}, {'inplace', false}},
  {'negative_slope', 'inplace'})

---x; alpha · (exp(x) - 1) where it is below 0 (Clevert et al. 2016). Arguments: alpha = 1, inplace = false.
---@class nn.ELU: nn.Module
---@overload fun(alpha?: number, options?: {inplace: boolean}): nn.ELU
local ELU = activation('ELU', 'elu', {{'alpha', 1}, {'inplace', false}}, {'alpha', 'inplace'})

return {
  ReLU = ReLU, GELU = GELU, Softmax = Softmax, LogSoftmax = LogSoftmax, ReLU6 = ReLU6, SiLU = SiLU, Mish = Mish,
  Hardswish = Hardswish, Sigmoid = Sigmoid, LogSigmoid = LogSigmoid, Tanh = Tanh, Softplus = Softplus,
  LeakyReLU = LeakyReLU, ELU = ELU,
}
