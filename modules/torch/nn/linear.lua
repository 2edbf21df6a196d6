-- torch/nn/linear.lua: Linear, Bilinear, Identity.

local args = require 'base.args'
local init = require 'torch.nn.init'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local Parameter = require('torch.nn.parameter').Parameter
local torch = require 'torch'

---y = x · Wᵀ + b on the last dimension: (…, in_features) → (…, out_features).
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(3, 2)
---assert(layer(torch.ones(5, 3)).shape[2] == 2)
---assert(tostring(layer) == 'Linear(in_features=3, out_features=2, bias=True)')
---```
---@class nn.Linear: nn.Module
---@overload fun(in_features: integer, out_features: integer, options?: table): nn.Linear
---@field weight torch.Tensor (out_features, in_features)
---@field bias torch.Tensor|nil (out_features)
local Linear = Module:extend('Linear')

local linear_signature = args.signature('Linear', {'in_features', 'out_features', {'bias', true}, {'device'},
  {'dtype'}})

---Arguments: in_features, out_features, {bias = true, device, dtype}.
function Linear:init(...)
  local a = linear_signature:bind(...)
  require('torch.functions.checks').counts('Linear', a, 'in_features', 'out_features')
  self.in_features, self.out_features = a.in_features, a.out_features
  local like = {dtype = a.dtype, device = a.device}
  self.weight = Parameter(torch.empty({a.out_features, a.in_features}, like))
  self:register_parameter('bias', a.bias and Parameter(torch.empty({a.out_features}, like)) or nil)
  self:reset_parameters()
end

function Linear:reset_parameters()
  init.kaiming_uniform_(self.weight, {a = math.sqrt(5)})
  if self.bias == nil then return end
  local bound = self.in_features > 0 and 1 / math.sqrt(self.in_features) or 0
  init.uniform_(self.bias, -bound, bound)
end

local take = inputs{'input'}

function Linear:forward(...) return torch.linear(take(self, ...), self.weight, self.bias) end

function Linear:extra_repr()
  return repr.fields{{'in_features', self.in_features}, {'out_features', self.out_features}, {'bias', self.bias ~= nil}}
end

---Linear under the name that PyTorch prints for out_proj of MultiheadAttention.
---@class nn.NonDynamicallyQuantizableLinear: nn.Linear
local NonDynamicallyQuantizableLinear = Linear:extend('NonDynamicallyQuantizableLinear')

---y = x1ᵀ A x2 + b: (…, in1), (…, in2) → (…, out).
---@class nn.Bilinear: nn.Module
---@overload fun(in1_features: integer, in2_features: integer, out_features: integer, options?: table): nn.Bilinear
local Bilinear = Module:extend('Bilinear')

local bilinear_signature = args.signature('Bilinear', {'in1_features', 'in2_features', 'out_features', {'bias', true},
  {'device'}, {'dtype'}})

---Arguments: in1_features, in2_features, out_features, {bias = true, device, dtype}.
function Bilinear:init(...)
  local a = bilinear_signature:bind(...)
  require('torch.functions.checks').counts('Bilinear', a, 'in1_features', 'in2_features', 'out_features')
  self.in1_features, self.in2_features, self.out_features = a.in1_features, a.in2_features, a.out_features
  local like = {dtype = a.dtype, device = a.device}
  self.weight = Parameter(torch.empty({a.out_features, a.in1_features, a.in2_features}, like))
  self:register_parameter('bias', a.bias and Parameter(torch.empty({a.out_features}, like)) or nil)
  self:reset_parameters()
end

function Bilinear:reset_parameters()
  local bound = 1 / math.sqrt(self.in1_features)
  init.uniform_(self.weight, -bound, bound)
  if self.bias ~= nil then init.uniform_(self.bias, -bound, bound) end
end

local take_pair = inputs{'input1', 'input2'}

function Bilinear:forward(...)
  local x1, x2 = take_pair(self, ...)
  return torch.bilinear(x1, x2, self.weight, self.bias)
end

function Bilinear:extra_repr()
  return repr.fields{{'in1_features', self.in1_features}, {'in2_features', self.in2_features},
                     {'out_features', self.out_features}, {'bias', self.bias ~= nil}}
end

---Returns its input; any arguments are accepted, as in PyTorch.
---@class nn.Identity: nn.Module
---@overload fun(...: any): nn.Identity
local Identity = Module:extend('Identity')

function Identity:init() end

function Identity:forward(x)
  -- Identity accepts any value, also a table.
  if args.is_keywords(x) and x.input ~= nil and next(x, next(x)) == nil then return x.input end
  return x
end

return {Linear = Linear, NonDynamicallyQuantizableLinear = NonDynamicallyQuantizableLinear, Bilinear = Bilinear,
        Identity = Identity}
