-- torch/distributions/transforms/sequence.lua: a transform for each part of a tensor: CatTransform, StackTransform.

local Transform = require 'torch.distributions.transforms.transform'
local args = require 'base.args'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

local function transforms_of(tseq, cache_size)
  local out = {}
  for i, transform in ipairs(tseq) do
    if not class.is(transform, Transform) then
      errors.raise('argument', 'All elements of tseq must be Transform instances')
    end
    out[i] = cache_size > 0 and transform:with_cache(cache_size) or transform
  end
  return out
end

local is_bijective = properties.property(function(self)
  for _, transform in ipairs(self.transforms) do
    if not transform.bijective then return false end
  end
  return true
end)

local function fields_of(transforms, name)
  local out = {}
  for i, transform in ipairs(transforms) do out[i] = transform[name] end
  return out
end

-- Checks that the value has the dimension, with `length` elements.
local function check_length(self, value, name, length)
  if self.dim < -value:dim() or self.dim >= value:dim() then
    errors.raise('argument', ('dim %d out of range for %s with %d dimensions'):format(self.dim, name, value:dim()))
  end
  if value:size(self.dim) ~= length then
    errors.raise('argument', ('%s.size(%d) = %d must equal %d'):format(name, self.dim, value:size(self.dim), length))
  end
end

local cat_signature = args.signature('CatTransform', {'tseq', {'dim', 0}, {'lengths'}, {'cache_size', 0}})

---Applies transforms to the parts that torch.cat concatenates. Arguments: tseq (a list of transforms), dim = 0, lengths
---(of the parts in that dimension; 1 each), cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local transforms = torch.distributions.transforms
---local parts = {transforms.ExpTransform(), transforms.AffineTransform(1, 2)}
---local transform = transforms.CatTransform(parts, {dim = 0, lengths = {2, 1}})
---assert(torch.equal(transform(torch.tensor{0, 0, 3}), torch.tensor{1, 1, 7}))
---```
---@class distributions.transforms.CatTransform: distributions.transforms.Transform
---@overload fun(tseq: distributions.transforms.Transform[], dim?: integer, ...: any): distributions.transforms.CatTransform
---@field transforms distributions.transforms.Transform[]
local CatTransform = Transform:extend('CatTransform')
CatTransform.bijective = is_bijective

function CatTransform:init(...)
  local bound = cat_signature:bind(...)
  self:_set_cache(bound.cache_size)
  self.transforms, self.dim = transforms_of(bound.tseq, bound.cache_size), bound.dim
  self.lengths = bound.lengths or sizes.repeated(1, #self.transforms)
  if #self.lengths ~= #self.transforms then
    errors.raise('argument', ('lengths (%d) must match transforms (%d)'):format(#self.lengths, #self.transforms))
  end
  self.length = 0
  for _, length in ipairs(self.lengths) do self.length = self.length + length end
end

CatTransform.event_dim = properties.lazy_property(function(self)
  return math.max(unpack(fields_of(self.transforms, 'event_dim')))
end)

for _, name in ipairs{'domain', 'codomain'} do
  CatTransform[name] = constraints.dependent_property(function(self)
    return constraints.cat(fields_of(self.transforms, name), self.dim, self.lengths)
  end)
end

-- Returns the results of fn(transform, part, …) for each part.
function CatTransform:_map(fn, ...)
  local out, start = {}, 0
  for i, transform in ipairs(self.transforms) do
    local parts = {}
    for k, value in ipairs{...} do parts[k] = value:narrow(self.dim, start, self.lengths[i]) end
    out[i] = fn(transform, unpack(parts))
    start = start + self.lengths[i]
  end
  return out
end

function CatTransform:_call(x)
  check_length(self, x, 'x', self.length)
  return torch.cat(self:_map(function(transform, part) return transform(part) end, x), self.dim)
end

function CatTransform:_inverse(y)
  check_length(self, y, 'y', self.length)
  return torch.cat(self:_map(function(transform, part) return transform.inv(part) end, y), self.dim)
end

function CatTransform:log_abs_det_jacobian(x, y)
  check_length(self, x, 'x', self.length)
  check_length(self, y, 'y', self.length)
  local event_dim = self.event_dim
  local terms = self:_map(function(transform, x_part, y_part)
    local term = transform:log_abs_det_jacobian(x_part, y_part)
    return utils.sum_rightmost(term, event_dim - transform.event_dim)
  end, x, y)
  local dim = (self.dim >= 0 and self.dim - x:dim() or self.dim) + event_dim
  if dim < 0 then return torch.cat(terms, dim) end
  local total = terms[1]
  for i = 2, #terms do total = total + terms[i] end
  return total
end

function CatTransform:_copy(cache_size) return CatTransform(self.transforms, self.dim, self.lengths, cache_size) end

local stack_signature = args.signature('StackTransform', {'tseq', {'dim', 0}, {'cache_size', 0}})

---Applies transforms to the parts that torch.stack stacks. Arguments: tseq (a list of transforms), dim = 0,
---cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local transforms = torch.distributions.transforms
---local transform = transforms.StackTransform({transforms.ExpTransform(), transforms.AffineTransform(1, 2)}, 1)
---assert(torch.equal(transform(torch.tensor{{0, 3}, {0, 4}}), torch.tensor{{1, 7}, {1, 9}}))
---```
---@class distributions.transforms.StackTransform: distributions.transforms.Transform
---@overload fun(tseq: distributions.transforms.Transform[], dim?: integer, ...: any): distributions.transforms.StackTransform
---@field transforms distributions.transforms.Transform[]
local StackTransform = Transform:extend('StackTransform')
StackTransform.bijective = is_bijective

function StackTransform:init(...)
  local bound = stack_signature:bind(...)
  self:_set_cache(bound.cache_size)
  self.transforms, self.dim = transforms_of(bound.tseq, bound.cache_size), bound.dim
end

for _, name in ipairs{'domain', 'codomain'} do
  StackTransform[name] = constraints.dependent_property(function(self)
    return constraints.stack(fields_of(self.transforms, name), self.dim)
  end)
end

function StackTransform:_call(x)
  check_length(self, x, 'x', #self.transforms)
  local out = {}
  for i, transform in ipairs(self.transforms) do out[i] = transform(x:select(self.dim, i - 1)) end
  return torch.stack(out, self.dim)
end

function StackTransform:_inverse(y)
  check_length(self, y, 'y', #self.transforms)
  local out = {}
  for i, transform in ipairs(self.transforms) do out[i] = transform.inv(y:select(self.dim, i - 1)) end
  return torch.stack(out, self.dim)
end

function StackTransform:log_abs_det_jacobian(x, y)
  check_length(self, x, 'x', #self.transforms)
  check_length(self, y, 'y', #self.transforms)
  local out = {}
  for i, transform in ipairs(self.transforms) do
    out[i] = transform:log_abs_det_jacobian(x:select(self.dim, i - 1), y:select(self.dim, i - 1))
  end
  return torch.stack(out, self.dim)
end

function StackTransform:_copy(cache_size) return StackTransform(self.transforms, self.dim, cache_size) end

return {CatTransform = CatTransform, StackTransform = StackTransform}
