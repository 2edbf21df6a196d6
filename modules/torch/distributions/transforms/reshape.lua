-- torch/distributions/transforms/reshape.lua: ReshapeTransform: the last dimensions in another shape.

local Transform = require 'torch.distributions.transforms.transform'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Reshapes the last dimensions. Arguments: in_shape, out_shape (with the same number of elements), cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local transform = torch.distributions.transforms.ReshapeTransform({6}, {2, 3})
---assert(transform(torch.zeros(5, 6)).shape == torch.Size{5, 2, 3})
---```
---@class distributions.transforms.ReshapeTransform: distributions.transforms.Transform
---@overload fun(in_shape: integer[], out_shape: integer[], cache_size?: integer): distributions.transforms.ReshapeTransform
local ReshapeTransform = Transform:extend('ReshapeTransform')
ReshapeTransform.bijective = true

local signature = args.signature('ReshapeTransform', {'in_shape', 'out_shape', {'cache_size', 0}})

function ReshapeTransform:init(...)
  local bound = signature:bind(...)
  self.in_shape, self.out_shape = torch.Size(bound.in_shape), torch.Size(bound.out_shape)
  if self.in_shape:numel() ~= self.out_shape:numel() then
    errors.raise('argument', 'in_shape, out_shape have different numbers of elements')
  end
  self:_set_cache(bound.cache_size)
end

for name, shape in next, {domain = 'in_shape', codomain = 'out_shape'} do
  ReshapeTransform[name] = constraints.dependent_property(function(self)
    return constraints.independent(constraints.real, #self[shape])
  end)
end

local function batch_of(value, shape) return sizes.slice(value.shape, 0, value:dim() - #shape) end

function ReshapeTransform:_call(x) return x:reshape(batch_of(x, self.in_shape) .. self.out_shape) end

function ReshapeTransform:_inverse(y) return y:reshape(batch_of(y, self.out_shape) .. self.in_shape) end

function ReshapeTransform:log_abs_det_jacobian(x) return torch.zeros(batch_of(x, self.in_shape), utils.like(x)) end

function ReshapeTransform:_copy(cache_size) return ReshapeTransform(self.in_shape, self.out_shape, cache_size) end

local function exchanged(shape, from, to)
  if #shape < #from then errors.raise('argument', 'Too few dimensions on input') end
  local cut = #shape - #from
  local rest = sizes.slice(shape, cut)
  if rest ~= from then
    errors.raise('argument', ('Shape mismatch: expected %s but got %s'):format(tostring(rest), tostring(from)))
  end
  return sizes.slice(shape, 0, cut) .. to
end

function ReshapeTransform:forward_shape(shape) return exchanged(shape, self.in_shape, self.out_shape) end

function ReshapeTransform:inverse_shape(shape) return exchanged(shape, self.out_shape, self.in_shape) end

return ReshapeTransform
