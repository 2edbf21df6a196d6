-- torch/distributions/transforms/elementwise.lua: transforms of single numbers without parameters: exp, sigmoid, softplus,
-- tanh, abs.

local F = require 'torch.nn.functional'
local Transform = require 'torch.distributions.transforms.transform'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local torch = require 'torch'

-- Returns a class whose instances are all equal.
local function plain(name, codomain)
  local new = Transform:extend(name)
  new.domain, new.codomain = constraints.real, codomain
  new.bijective, new.sign = true, 1
  function new:_is_equal(other) return class.is(other, new) end
  return new
end

---Computes y = exp(x). Arguments: cache_size = 0.
---@class distributions.transforms.ExpTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.ExpTransform
local ExpTransform = plain('ExpTransform', constraints.positive)

function ExpTransform:_call(x) return x:exp() end

function ExpTransform:_inverse(y) return y:log() end

function ExpTransform:log_abs_det_jacobian(x) return x end

---Computes y = sigmoid(x), kept away from 0 and 1. Arguments: cache_size = 0.
---@class distributions.transforms.SigmoidTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.SigmoidTransform
local SigmoidTransform = plain('SigmoidTransform', constraints.unit_interval)

local function clipped(y)
  local limits = torch.finfo(y.dtype)
  return y:clamp{min = limits.tiny, max = 1 - limits.eps}
end

function SigmoidTransform:_call(x) return clipped(torch.sigmoid(x)) end

function SigmoidTransform:_inverse(y)
  y = clipped(y)
  return y:log() - (-y):log1p()
end

function SigmoidTransform:log_abs_det_jacobian(x) return -F.softplus(-x) - F.softplus(x) end

---Computes y = log(1 + exp(x)). Arguments: cache_size = 0.
---@class distributions.transforms.SoftplusTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.SoftplusTransform
local SoftplusTransform = plain('SoftplusTransform', constraints.positive)

function SoftplusTransform:_call(x) return F.softplus(x) end

function SoftplusTransform:_inverse(y) return (-y):expm1():neg():log() + y end

function SoftplusTransform:log_abs_det_jacobian(x) return -F.softplus(-x) end

---Computes y = tanh(x). A ComposeTransform of AffineTransform(0, 2), SigmoidTransform and AffineTransform(-1, 2) is
---less exact. Arguments: cache_size = 0.
---@class distributions.transforms.TanhTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.TanhTransform
local TanhTransform = plain('TanhTransform', constraints.interval(-1, 1))

function TanhTransform:_call(x) return x:tanh() end

function TanhTransform:_inverse(y) return torch.atanh(y) end

function TanhTransform:log_abs_det_jacobian(x) return 2 * (math.log(2) - x - F.softplus(-2 * x)) end

---Computes y = |x|; the inverse returns y unchanged. Arguments: cache_size = 0.
---@class distributions.transforms.AbsTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.AbsTransform
local AbsTransform = plain('AbsTransform', constraints.positive)
AbsTransform.bijective, AbsTransform.sign = false, Transform.sign

function AbsTransform:_call(x) return x:abs() end

function AbsTransform:_inverse(y) return y end

return {ExpTransform = ExpTransform, SigmoidTransform = SigmoidTransform, SoftplusTransform = SoftplusTransform,
        TanhTransform = TanhTransform, AbsTransform = AbsTransform, clipped = clipped}
