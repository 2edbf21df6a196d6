-- torch/distributions/transforms/power.lua: PowerTransform: y = x ^ exponent.

local Transform = require 'torch.distributions.transforms.transform'
local args = require 'base.args'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local utils = require 'torch.distributions.utils'

---Computes y = x ^ exponent for positive numbers. Arguments: exponent (number or Tensor), cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local square = torch.distributions.transforms.PowerTransform(2)
---assert(square(torch.tensor(3)):item() == 9 and square.inv(torch.tensor(9)):item() == 3)
---```
---@class distributions.transforms.PowerTransform: distributions.transforms.Transform
---@overload fun(exponent: number|torch.Tensor, cache_size?: integer): distributions.transforms.PowerTransform
local PowerTransform = Transform:extend('PowerTransform')
PowerTransform.domain, PowerTransform.codomain = constraints.positive, constraints.positive
PowerTransform.bijective = true

local signature = args.signature('PowerTransform', {'exponent', {'cache_size', 0}})

function PowerTransform:init(...)
  local bound = signature:bind(...)
  self:_set_cache(bound.cache_size)
  self.exponent = utils.broadcast_all(bound.exponent)
end

PowerTransform.sign = properties.lazy_property(function(self) return self.exponent:sign() end)

function PowerTransform:_call(x) return x:pow(self.exponent) end

function PowerTransform:_inverse(y) return y:pow(1 / self.exponent) end

function PowerTransform:log_abs_det_jacobian(x, y) return (self.exponent * y / x):abs():log() end

function PowerTransform:_copy(cache_size) return PowerTransform(self.exponent, cache_size) end

function PowerTransform:_is_equal(other)
  return class.is(other, PowerTransform) and self.exponent:eq(other.exponent):all():item()
end

function PowerTransform:forward_shape(shape) return sizes.broadcast(shape, self.exponent.shape) end

function PowerTransform:inverse_shape(shape) return sizes.broadcast(shape, self.exponent.shape) end

return PowerTransform
