-- torch/nn/activation.lua: activation functions as modules: each calls the function of its name in torch.nn.functional,
-- with its options as fields. Shapes are arbitrary unless stated otherwise.

local errors = require 'base.errors'
local args = require 'base.args'
local init = require 'torch.nn.init'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local stateless = require 'torch.nn.stateless'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local F = require 'torch.nn.functional'
local torch = require 'torch'

local INPLACE = {{'inplace', false}}

-- Defines a class whose only option is `inplace`.
local function inplace_class(name, fn, shown)
  return stateless(name, INPLACE, function(self, x)
    if self.inplace then return F[fn](x, {inplace = true}) end
    return F[fn](x)
  end, shown)
end

local SHOW_INPLACE = {{'inplace', 'flag'}}

---max(x, 0), of any shape. Arguments: inplace = false.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.ReLU()(torch.tensor{-1, 2}):sum():item() == 2)
---```
---@class nn.ReLU: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.ReLU
local ReLU = inplace_class('ReLU', 'relu', SHOW_INPLACE)

---min(max(x, 0), 6). Arguments: inplace = false.
---@class nn.ReLU6: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.ReLU6
local ReLU6 = inplace_class('ReLU6', 'relu6', SHOW_INPLACE)

---x · sigmoid(x), also known as swish. Arguments: inplace = false. Shape: (…) → (…).
---@class nn.SiLU: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.SiLU
local SiLU = inplace_class('SiLU', 'silu', SHOW_INPLACE)

---x · tanh(softplus(x)) (Misra 2019). Arguments: inplace = false. Shape: (…) → (…).
---@class nn.Mish: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.Mish
local Mish = inplace_class('Mish', 'mish', SHOW_INPLACE)

---scale · (max(x, 0) + min(alpha · (exp(x) - 1), 0)) with the constants of Klambauer et al. 2017. Arguments: inplace =
---false.
---@class nn.SELU: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.SELU
local SELU = inplace_class('SELU', 'selu', SHOW_INPLACE)

---x · min(max(x + 3, 0), 6) / 6 (Howard et al. 2019). Arguments: inplace = false.
---@class nn.Hardswish: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.Hardswish
local Hardswish = inplace_class('Hardswish', 'hardswish')

---min(max(x + 3, 0), 6) / 6. Arguments: inplace = false.
---@class nn.Hardsigmoid: nn.Module
---@overload fun(options?: {inplace: boolean}): nn.Hardsigmoid
local Hardsigmoid = inplace_class('Hardsigmoid', 'hardsigmoid')

---1 / (1 + exp(-x)). Shape: (…) → (…).
---@class nn.Sigmoid: nn.Module
---@overload fun(): nn.Sigmoid
local Sigmoid = stateless('Sigmoid', {}, function(_, x) return torch.sigmoid(x) end)

---log(1 / (1 + exp(-x))). Shape: (…) → (…).
---@class nn.LogSigmoid: nn.Module
---@overload fun(): nn.LogSigmoid
local LogSigmoid = stateless('LogSigmoid', {}, function(_, x) return torch.log_sigmoid(x) end)

---The hyperbolic tangent. Shape: (…) → (…).
---@class nn.Tanh: nn.Module
---@overload fun(): nn.Tanh
local Tanh = stateless('Tanh', {}, function(_, x) return torch.tanh(x) end)

---x - tanh(x). Shape: (…) → (…).
---@class nn.Tanhshrink: nn.Module
---@overload fun(): nn.Tanhshrink
local Tanhshrink = stateless('Tanhshrink', {}, function(_, x) return F.tanhshrink(x) end)

---x / (1 + |x|). Shape: (…) → (…).
---@class nn.Softsign: nn.Module
---@overload fun(): nn.Softsign
local Softsign = stateless('Softsign', {}, function(_, x) return F.softsign(x) end)

---x · Φ(x) (Hendrycks and Gimpel 2016). Arguments: approximate = 'none' or 'tanh'. Shape: (…) → (…).
---@class nn.GELU: nn.Module
---@overload fun(options?: {approximate: string}): nn.GELU
local GELU = stateless('GELU', {{'approximate', 'none'}}, function(self, x)
  return torch.gelu(x, {approximate = self.approximate})
end, {'approximate'})

---log(1 + exp(beta · x)) / beta; x itself where beta · x is above the threshold. Arguments: beta = 1, threshold = 20.
---Shape: (…) → (…).
---@class nn.Softplus: nn.Module
---@overload fun(options?: {beta: number, threshold: number}): nn.Softplus
local Softplus = stateless('Softplus', {{'beta', 1}, {'threshold', 20}}, function(self, x)
  return torch.softplus(x, self.beta, self.threshold)
end, {{'beta', 'float'}, {'threshold', 'float'}})

---x - lambd where x > lambd, x + lambd where x < -lambd, else 0. Arguments: lambd = 0.5. Shape: (…) → (…).
---@class nn.Softshrink: nn.Module
---@overload fun(lambd?: number): nn.Softshrink
local Softshrink = stateless('Softshrink', {{'lambd', 0.5}}, function(self, x)
  return torch.softshrink(x, self.lambd)
end, {{'lambd', 'bare_float'}})

---x where |x| > lambd, else 0. Arguments: lambd = 0.5. Shape: (…) → (…).
---@class nn.Hardshrink: nn.Module
---@overload fun(lambd?: number): nn.Hardshrink
local Hardshrink = stateless('Hardshrink', {{'lambd', 0.5}}, function(self, x)
  return torch.hardshrink(x, self.lambd)
end, {{'lambd', 'bare_float'}})

---x, times negative_slope where it is below 0. Arguments: negative_slope = 0.01, inplace = false. Shape: (…) → (…).
---@class nn.LeakyReLU: nn.Module
---@overload fun(negative_slope?: number, options?: {inplace: boolean}): nn.LeakyReLU
local LeakyReLU = stateless('LeakyReLU', {{'negative_slope', 0.01}, {'inplace', false}}, function(self, x)
  return F.leaky_relu(x, self.negative_slope, self.inplace)
end, {{'negative_slope', 'float'}, {'inplace', 'flag'}})

---Multiplies x, where it is negative, by a random slope between lower and upper, in evaluation mode by their mean (Xu
---et al. 2015).
---Arguments: lower = 1/8, upper = 1/3, inplace = false. Shape: (…) → (…).
---@class nn.RReLU: nn.Module
---@overload fun(lower?: number, upper?: number, options?: {inplace: boolean}): nn.RReLU
local RReLU = stateless('RReLU', {{'lower', 1 / 8}, {'upper', 1 / 3}, {'inplace', false}}, function(self, x)
  return F.rrelu(x, self.lower, self.upper, self.training, self.inplace)
end, {{'lower', 'float'}, {'upper', 'float'}, {'inplace', 'flag'}})

---x where it is positive, else alpha · (exp(x) - 1) (Clevert et al. 2016). Arguments: alpha = 1, inplace = false.
---Shape: (…) → (…).
---@class nn.ELU: nn.Module
---@overload fun(alpha?: number, options?: {inplace: boolean}): nn.ELU
local ELU = stateless('ELU', {{'alpha', 1}, {'inplace', false}}, function(self, x)
  return F.elu(x, self.alpha, self.inplace)
end, {{'alpha', 'float'}, {'inplace', 'flag'}})

---max(x, 0) + min(alpha · (exp(x / alpha) - 1), 0) (Barron 2017). Arguments: alpha = 1, inplace = false.
---@class nn.CELU: nn.Module
---@overload fun(alpha?: number, options?: {inplace: boolean}): nn.CELU
local CELU = stateless('CELU', {{'alpha', 1}, {'inplace', false}}, function(self, x)
  return F.celu(x, self.alpha, self.inplace)
end, {{'alpha', 'float'}, {'inplace', 'flag'}})

---min(max(x, min_val), max_val). Arguments: min_val = -1, max_val = 1, inplace = false.
---@class nn.Hardtanh: nn.Module
---@overload fun(min_val?: number, max_val?: number, options?: {inplace: boolean}): nn.Hardtanh
local Hardtanh = stateless('Hardtanh', {{'min_val', -1}, {'max_val', 1}, {'inplace', false}}, function(self, x)
  return F.hardtanh(x, self.min_val, self.max_val, self.inplace)
end, {{'min_val', 'float'}, {'max_val', 'float'}, {'inplace', 'flag'}})

function Hardtanh:_check()
  if self.max_val > self.min_val then return end
  errors.raise('argument', ('Hardtanh: max_val = %s must be above min_val = %s'):format(self.max_val, self.min_val))
end

---x where it is above the threshold, else `value`. Arguments: threshold, value, inplace = false. Shape: (…) → (…).
---@class nn.Threshold: nn.Module
---@overload fun(threshold: number, value: number, options?: {inplace: boolean}): nn.Threshold
local Threshold = stateless('Threshold', {'threshold', 'value', {'inplace', false}}, function(self, x)
  return F.threshold(x, self.threshold, self.value, self.inplace)
end, {{'threshold', 'float'}, {'value', 'float'}, {'inplace', 'flag'}})

---The first half of x along `dim` times the sigmoid of the second (Dauphin et al. 2017). Arguments: dim = -1.
---Shape: (…, 2 · n, …) → (…, n, …).
---@class nn.GLU: nn.Module
---@overload fun(dim?: integer): nn.GLU
local GLU = stateless('GLU', {{'dim', -1}}, function(self, x) return torch.glu(x, self.dim) end, {'dim'})

local DIM = {{'dim'}}

---exp(x) / Σ exp(x) along `dim`. Shape: (…) → (…).
---@class nn.Softmax: nn.Module
---@overload fun(dim: integer): nn.Softmax
local Softmax = stateless('Softmax', DIM, function(self, x) return F.softmax(x, self.dim) end, {'dim'})

---softmax(-x) along `dim`. Shape: (…) → (…).
---@class nn.Softmin: nn.Module
---@overload fun(dim: integer): nn.Softmin
local Softmin = stateless('Softmin', DIM, function(self, x) return F.softmin(x, self.dim) end, {'dim'})

---log(exp(x) / Σ exp(x)) along `dim`. Shape: (…) → (…).
---@class nn.LogSoftmax: nn.Module
---@overload fun(dim: integer): nn.LogSoftmax
local LogSoftmax = stateless('LogSoftmax', DIM, function(self, x) return F.log_softmax(x, self.dim) end, {'dim'})

---Softmax over the channels at each place of (N, C, H, W) or (C, H, W).
---@class nn.Softmax2d: nn.Module
---@overload fun(): nn.Softmax2d
local Softmax2d = stateless('Softmax2d', {}, function(_, x)
  local dims = x:dim()
  if dims ~= 3 and dims ~= 4 then
    errors.raise('argument', ('Softmax2d: expected 3 or 4 dimensions, got %d'):format(dims))
  end
  return torch.softmax(x, -3)
end)

---Multiplies x, where it is negative, by a learned slope (He et al. 2015): one, or one for each channel of (N, C, …).
---Arguments: num_parameters = 1, init = 0.25, {device, dtype}.
---@class nn.PReLU: nn.Module
---@overload fun(num_parameters?: integer, init?: number, options?: table): nn.PReLU
---@field weight torch.Tensor (num_parameters)
local PReLU = Module:extend('PReLU')

local prelu_signature = args.signature('PReLU', {{'num_parameters', 1}, {'init', 0.25}, {'device'}, {'dtype'}})

-- PyTorch's field `init` has another name, since `init` is the constructor here.
function PReLU:init(...)
  local a = prelu_signature:bind(...)
  self.num_parameters, self._init_value = a.num_parameters, a.init
  self.weight = Parameter(torch.empty({a.num_parameters}, {device = a.device, dtype = a.dtype}))
  self:reset_parameters()
end

function PReLU:reset_parameters() init.constant_(self.weight, self._init_value) end

local take = inputs{'input'}

function PReLU:forward(...) return torch.prelu(take(self, ...), self.weight) end

function PReLU:extra_repr() return repr.fields{{'num_parameters', self.num_parameters}} end

return {
  ReLU = ReLU, ReLU6 = ReLU6, SiLU = SiLU, Mish = Mish, SELU = SELU, Hardswish = Hardswish, Hardsigmoid = Hardsigmoid,
  Sigmoid = Sigmoid, LogSigmoid = LogSigmoid, Tanh = Tanh, Tanhshrink = Tanhshrink, Softsign = Softsign, GELU = GELU,
  Softplus = Softplus, Softshrink = Softshrink, Hardshrink = Hardshrink, LeakyReLU = LeakyReLU, RReLU = RReLU, ELU = ELU,
  CELU = CELU, Hardtanh = Hardtanh, Threshold = Threshold, GLU = GLU, Softmax = Softmax, Softmin = Softmin,
  LogSoftmax = LogSoftmax, Softmax2d = Softmax2d, PReLU = PReLU,
}
