-- torch/distributions/transforms/affine.lua: AffineTransform: y = loc + scale * x.

local Transform = require 'torch.distributions.transforms.transform'
local args = require 'base.args'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'

---Computes y = loc + scale * x. Arguments: loc, scale (numbers or Tensors), event_dim = 0 (dimensions of an event: 0
---for numbers, 1 for vectors), cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local transform = torch.distributions.transforms.AffineTransform(1, 2)
---assert(transform(torch.tensor(3)):item() == 7 and transform.inv(torch.tensor(7)):item() == 3)
---```
---@class distributions.transforms.AffineTransform: distributions.transforms.Transform
---@overload fun(loc: number|torch.Tensor, scale: number|torch.Tensor, ...: any): distributions.transforms.AffineTransform
local AffineTransform = Transform:extend('AffineTransform')
AffineTransform.bijective = true

local signature = args.signature('AffineTransform', {'loc', 'scale', {'event_dim', 0}, {'cache_size', 0}})

function AffineTransform:init(...)
  local bound = signature:bind(...)
  self:_set_cache(bound.cache_size)
  self.loc, self.scale, self.event_dim = bound.loc, bound.scale, bound.event_dim
end

for _, name in ipairs{'domain', 'codomain'} do
  AffineTransform[name] = constraints.dependent_property(function(self)
    if self.event_dim == 0 then return constraints.real end
    return constraints.independent(constraints.real, self.event_dim)
  end, {is_discrete = false})
end

AffineTransform.sign = properties.property(function(self)
  if torch.is_tensor(self.scale) then return self.scale:sign() end
  return self.scale > 0 and 1 or self.scale < 0 and -1 or 0
end)

function AffineTransform:_call(x) return self.loc + self.scale * x end

function AffineTransform:_inverse(y) return (y - self.loc) / self.scale end

function AffineTransform:log_abs_det_jacobian(x)
  local shape, scale, event_dim = x.shape, self.scale, self.event_dim
  local result = torch.is_tensor(scale) and torch.abs(scale):log() or torch.full_like(x, math.log(math.abs(scale)))
  if event_dim > 0 then
    result = result:reshape(sizes.slice(result.shape, 0, -event_dim) .. {-1}):sum(-1)
    shape = sizes.slice(shape, 0, -event_dim)
  end
  return result:expand(shape)
end

function AffineTransform:_copy(cache_size) return AffineTransform(self.loc, self.scale, self.event_dim, cache_size) end

local function equal(a, b)
  if not torch.is_tensor(a) then a, b = b, a end
  if not torch.is_tensor(a) then return a == b end
  return a:eq(b):all():item()
end

function AffineTransform:_is_equal(other)
  return class.is(other, AffineTransform) and equal(self.loc, other.loc) and equal(self.scale, other.scale)
end

function AffineTransform:forward_shape(shape)
  return sizes.broadcast(shape, sizes.of(self.loc), sizes.of(self.scale))
end

function AffineTransform:inverse_shape(shape) return self:forward_shape(shape) end

return AffineTransform
