-- torch/distributions/transforms/transform.lua: Transform, the base class of transforms, and inverses.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'

local function unsupported(self, what)
  errors.raise('unsupported', ('%s does not implement %s'):format(class.of(self).__name, what))
end

---An invertible function of tensors whose change of volume can be computed: `y = t(x)`, `x = t.inv(y)`. A subclass defines
---`_call(x)`, `_inverse(y)` or both, and `log_abs_det_jacobian(x, y)` if it is bijective. Arguments: cache_size = 0 (1
---keeps the last pair of input and output, for inverses that are expensive or inexact).
---
---```lua
---local torch = require 'torch'
---local transform = torch.distributions.transforms.ExpTransform()
---local x = torch.tensor{0, 1}
---local y = transform(x)
---assert(torch.allclose(transform.inv(y), x) and transform.inv.inv == transform)
---assert(torch.equal(transform:log_abs_det_jacobian(x, y), x))
---```
---@class distributions.transforms.Transform
---@field domain distributions.constraints.Constraint valid inputs
---@field codomain distributions.constraints.Constraint valid outputs
---@field bijective boolean whether inv is a two-sided inverse
---@field sign integer|torch.Tensor 1 where a bijective transform of numbers increases, -1 where it decreases
---@field event_dim integer dimensions of one event, if domain and codomain have the same number
---@field inv distributions.transforms.Transform the inverse transform
local Transform = class('Transform')
Transform.bijective = false
Transform.__index = properties.index
Transform.__tostring = function(self) return self:_repr() end
Transform.__eq = function(self, other) return self:_is_equal(other) end
Transform.__call = function(self, x) return self:_forward(x) end

local signature = args.signature('Transform', {{'cache_size', 0}})

function Transform:init(...) self:_set_cache(signature:bind(...).cache_size) end

function Transform:_set_cache(cache_size)
  if cache_size ~= 0 and cache_size ~= 1 then errors.raise('argument', 'cache_size must be 0 or 1') end
  self._cache_size = cache_size
end

Transform.event_dim = properties.property(function(self)
  if self.domain.event_dim == self.codomain.event_dim then return self.domain.event_dim end
  errors.raise('argument', 'Please use either .domain.event_dim or .codomain.event_dim')
end)

Transform.sign = properties.property(function(self) unsupported(self, 'sign') end)

-- Uses the cache, if there is one: inputs and outputs are compared by identity.
function Transform:_forward(x)
  if self._cache_size == 0 then return self:_call(x) end
  if self._x ~= nil and rawequal(x, self._x) then return self._y end
  self._x, self._y = x, self:_call(x)
  return self._y
end

function Transform:_backward(y)
  if self._cache_size == 0 then return self:_inverse(y) end
  if self._y ~= nil and rawequal(y, self._y) then return self._x end
  self._x, self._y = self:_inverse(y), y
  return self._x
end

function Transform:_call() unsupported(self, 'a forward transformation') end

function Transform:_inverse() unsupported(self, 'an inverse') end

-- Compares by identity; classes without parameters, and some others, override this.
function Transform:_is_equal(other) return rawequal(self, other) end

function Transform:_repr() return class.of(self).__name .. '()' end

---Returns log |dy/dx|; for vectors and matrices, log |det(dy/dx)|.
---@param x torch.Tensor
---@param y torch.Tensor the transform's result for x
---@return torch.Tensor
function Transform:log_abs_det_jacobian(x, y) unsupported(self, 'log_abs_det_jacobian') end

---Returns the same transform with another cache.
---@param cache_size? integer 0 or 1 (default 1)
---@return distributions.transforms.Transform
function Transform:with_cache(cache_size)
  cache_size = cache_size or 1
  if self._cache_size == cache_size then return self end
  return self:_copy(cache_size)
end

function Transform:_copy(cache_size)
  local of = class.of(self)
  if of.init ~= Transform.init then unsupported(self, 'with_cache') end
  return of(cache_size)
end

---Returns the shape of the output for a given shape of the input.
---@param shape integer[]
---@return integer[]
function Transform:forward_shape(shape) return shape end

---Returns the shape of the input for a given shape of the output.
---@param shape integer[]
---@return integer[]
function Transform:inverse_shape(shape) return shape end

local InverseTransform = Transform:extend('_InverseTransform')

function InverseTransform:init(transform)
  self:_set_cache(transform._cache_size)
  self.inv = transform
end

for field, of_inverse in next, {domain = 'codomain', codomain = 'domain', bijective = 'bijective', sign = 'sign'} do
  InverseTransform[field] = properties.property(function(self) return self.inv[of_inverse] end)
end

function InverseTransform:_forward(x) return self.inv:_backward(x) end

function InverseTransform:_backward(y) return self.inv:_forward(y) end

function InverseTransform:log_abs_det_jacobian(x, y) return -self.inv:log_abs_det_jacobian(y, x) end

function InverseTransform:with_cache(cache_size) return self.inv:with_cache(cache_size).inv end

function InverseTransform:_is_equal(other) return class.is(other, InverseTransform) and self.inv == other.inv end

function InverseTransform:_repr() return ('_InverseTransform(%s)'):format(tostring(self.inv)) end

function InverseTransform:forward_shape(shape) return self.inv:inverse_shape(shape) end

function InverseTransform:inverse_shape(shape) return self.inv:forward_shape(shape) end

-- Computed once: t.inv is the same object each time.
Transform.inv = properties.lazy_property(function(self) return InverseTransform(self) end)

return Transform
