-- torch/distributions/transforms/independent.lua: IndependentTransform: a transform with more event dimensions.

local Transform = require 'torch.distributions.transforms.transform'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'
local utils = require 'torch.distributions.utils'

---A transform whose `log_abs_det_jacobian` sums over more of the rightmost dimensions. Arguments: base_transform,
---reinterpreted_batch_ndims (number of additional dimensions), cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local transforms = torch.distributions.transforms
---local transform = transforms.IndependentTransform(transforms.ExpTransform(), 1)
---local x = torch.tensor{1, 2}
---assert(transform:log_abs_det_jacobian(x, transform(x)):item() == 3)
---```
---@class distributions.transforms.IndependentTransform: distributions.transforms.Transform
---@overload fun(base_transform: distributions.transforms.Transform, ...: any): distributions.transforms.IndependentTransform
local IndependentTransform = Transform:extend('IndependentTransform')

local signature = args.signature('IndependentTransform', {'base_transform', 'reinterpreted_batch_ndims',
  {'cache_size', 0}})

function IndependentTransform:init(...)
  local bound = signature:bind(...)
  self:_set_cache(bound.cache_size)
  self.base_transform = bound.base_transform:with_cache(bound.cache_size)
  self.reinterpreted_batch_ndims = bound.reinterpreted_batch_ndims
end

for _, name in ipairs{'domain', 'codomain'} do
  IndependentTransform[name] = constraints.dependent_property(function(self)
    return constraints.independent(self.base_transform[name], self.reinterpreted_batch_ndims)
  end, {is_discrete = false})
end

for _, name in ipairs{'bijective', 'sign'} do
  IndependentTransform[name] = properties.property(function(self) return self.base_transform[name] end)
end

local function check_dimensions(value, constraint)
  if value:dim() < constraint.event_dim then errors.raise('argument', 'Too few dimensions on input') end
end

function IndependentTransform:_call(x)
  check_dimensions(x, self.domain)
  return self.base_transform(x)
end

function IndependentTransform:_inverse(y)
  check_dimensions(y, self.codomain)
  return self.base_transform.inv(y)
end

function IndependentTransform:log_abs_det_jacobian(x, y)
  return utils.sum_rightmost(self.base_transform:log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)
end

function IndependentTransform:_copy(cache_size)
  return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)
end

function IndependentTransform:forward_shape(shape) return self.base_transform:forward_shape(shape) end

function IndependentTransform:inverse_shape(shape) return self.base_transform:inverse_shape(shape) end

function IndependentTransform:_repr()
  return ('IndependentTransform(%s, %d)'):format(tostring(self.base_transform), self.reinterpreted_batch_ndims)
end

return IndependentTransform
