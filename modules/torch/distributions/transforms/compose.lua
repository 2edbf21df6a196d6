-- torch/distributions/transforms/compose.lua: ComposeTransform: transforms one after the other.

local Transform = require 'torch.distributions.transforms.transform'
local args = require 'base.args'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Applies transforms one after the other. Arguments: parts (a list of transforms), cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local transforms = torch.distributions.transforms
---local both = transforms.ComposeTransform{transforms.ExpTransform(), transforms.AffineTransform(1, 2)}
---assert(both(torch.tensor(0)):item() == 3 and both.inv(torch.tensor(3)):item() == 0)
---```
---@class distributions.transforms.ComposeTransform: distributions.transforms.Transform
---@overload fun(parts: distributions.transforms.Transform[], cache_size?: integer): distributions.transforms.ComposeTransform
---@field parts distributions.transforms.Transform[]
local ComposeTransform = Transform:extend('ComposeTransform')

local signature = args.signature('ComposeTransform', {'parts', {'cache_size', 0}})

function ComposeTransform:init(...)
  local bound = signature:bind(...)
  self:_set_cache(bound.cache_size)
  self.parts = {}
  for i, part in ipairs(bound.parts) do
    if not class.is(part, Transform) then
      errors.raise('argument', ('ComposeTransform: part %d is not a Transform, got %s'):format(i, type(part)))
    end
    self.parts[i] = bound.cache_size > 0 and part:with_cache(bound.cache_size) or part
  end
end

-- Returns the constraint at one end with the event dimensions that all parts need: those of the other end, as changed
-- by each part.
local function widened(constraint, event_dim)
  if event_dim > constraint.event_dim then return constraints.independent(constraint, event_dim - constraint.event_dim) end
  return constraint
end

ComposeTransform.domain = constraints.dependent_property(function(self)
  local parts = self.parts
  if #parts == 0 then return constraints.real end
  local event_dim = parts[#parts].codomain.event_dim
  for i = #parts, 1, -1 do
    event_dim = event_dim + parts[i].domain.event_dim - parts[i].codomain.event_dim
    event_dim = math.max(event_dim, parts[i].domain.event_dim)
  end
  return widened(parts[1].domain, event_dim)
end, {is_discrete = false})

ComposeTransform.codomain = constraints.dependent_property(function(self)
  local parts = self.parts
  if #parts == 0 then return constraints.real end
  local event_dim = parts[1].domain.event_dim
  for _, part in ipairs(parts) do
    event_dim = event_dim + part.codomain.event_dim - part.domain.event_dim
    event_dim = math.max(event_dim, part.codomain.event_dim)
  end
  return widened(parts[#parts].codomain, event_dim)
end, {is_discrete = false})

ComposeTransform.bijective = properties.property(function(self)
  for _, part in ipairs(self.parts) do
    if not part.bijective then return false end
  end
  return true
end)

ComposeTransform.sign = properties.property(function(self)
  local sign = 1
  for _, part in ipairs(self.parts) do sign = sign * part.sign end
  return sign
end)

ComposeTransform.inv = properties.lazy_property(function(self)
  local parts = {}
  for i, part in ipairs(self.parts) do parts[#self.parts + 1 - i] = part.inv end
  local inverse = ComposeTransform(parts)
  inverse.inv = self
  return inverse
end)

-- The parts cache their results.
function ComposeTransform:_forward(x)
  for _, part in ipairs(self.parts) do x = part(x) end
  return x
end

function ComposeTransform:_backward(y) return self.inv(y) end

function ComposeTransform:_copy(cache_size) return ComposeTransform(self.parts, cache_size) end

function ComposeTransform:_is_equal(other)
  if not class.is(other, ComposeTransform) or #other.parts ~= #self.parts then return false end
  for i, part in ipairs(self.parts) do
    if part ~= other.parts[i] then return false end
  end
  return true
end

function ComposeTransform:log_abs_det_jacobian(x, y)
  local parts = self.parts
  if #parts == 0 then return torch.zeros_like(x) end
  local values = {x}
  for i = 1, #parts - 1 do values[i + 1] = parts[i](values[i]) end
  values[#parts + 1] = y
  local total
  local event_dim = self.domain.event_dim
  for i, part in ipairs(parts) do
    local term = utils.sum_rightmost(part:log_abs_det_jacobian(values[i], values[i + 1]),
      event_dim - part.domain.event_dim)
    total = total and total + term or term
    event_dim = event_dim + part.codomain.event_dim - part.domain.event_dim
  end
  return total
end

function ComposeTransform:forward_shape(shape)
  for _, part in ipairs(self.parts) do shape = part:forward_shape(shape) end
  return shape
end

function ComposeTransform:inverse_shape(shape)
  for i = #self.parts, 1, -1 do shape = self.parts[i]:inverse_shape(shape) end
  return shape
end

function ComposeTransform:_repr()
  local texts = {}
  for i, part in ipairs(self.parts) do texts[i] = tostring(part) end
  return ('ComposeTransform(\n    %s\n)'):format(table.concat(texts, ',\n    '))
end

return ComposeTransform
