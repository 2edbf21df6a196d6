-- torch/distributions/constraints/constraint.lua: the class Constraint, and constraints that are built from others.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'

---A region in which the values of a variable are valid, and within which it can be optimized. A subclass defines
---`check`.
---
---```lua
---local torch = require 'torch'
---local Even = torch.distributions.constraints.Constraint:extend('Even')
---Even.is_discrete = true
---function Even:check(value) return (value % 2):eq(0) end
---assert(tostring(Even()) == 'Even()' and Even():check(torch.tensor(4)):item())
---```
---@class distributions.constraints.Constraint
---@field is_discrete boolean whether the values are discrete, such as 0, 1, 2
---@field event_dim integer number of rightmost dimensions that together are one event
local Constraint = class('Constraint')
Constraint.is_discrete, Constraint.event_dim = false, 0
Constraint.__index = properties.index
Constraint.__tostring = function(self) return self:_repr() end

---Returns which events of the value satisfy the constraint.
---@param value torch.Tensor shape: batch and event dimensions
---@return torch.Tensor valid booleans, without the event dimensions
function Constraint:check(value)
  errors.raise('unsupported', class.of(self).__name .. ' does not implement check')
end

function Constraint:_repr() return class.of(self).__name .. '()' end

local dependent_signature = args.signature('dependent', {{'is_discrete'}, {'event_dim'}})

local Dependent = Constraint:extend('Dependent')

function Dependent:init(...)
  local bound = dependent_signature:bind(...)
  self._is_discrete, self._event_dim = bound.is_discrete, bound.event_dim
end

for _, name in ipairs{'is_discrete', 'event_dim'} do
  Dependent[name] = properties.property(function(self)
    local value = self['_' .. name]
    if value == nil then errors.raise('unsupported', ('.%s cannot be determined statically'):format(name)) end
    return value
  end)
end

-- constraints.dependent {event_dim = 1}: the same with known properties.
Dependent.__call = function(self, ...)
  local bound = dependent_signature:bind(...)
  if bound.is_discrete == nil then bound.is_discrete = self._is_discrete end
  if bound.event_dim == nil then bound.event_dim = self._event_dim end
  return Dependent(bound)
end

function Dependent:check(value) errors.raise('argument', 'Cannot determine validity of dependent constraint') end

local property_signature = args.signature('dependent_property', {'fn', {'is_discrete'}, {'event_dim'}})

---A field of a class that returns a constraint which depends on the instance. Arguments: fn (a function of the
---instance), {is_discrete, event_dim} (if they are the same for all instances of the class).
---
---```lua
---local torch = require 'torch'
---local distributions, constraints = torch.distributions, torch.distributions.constraints
---assert(constraints.is_dependent(distributions.Uniform.support))
---assert(tostring(distributions.Uniform(0, 2).support) == 'Interval(lower_bound=0.0, upper_bound=2.0)')
---```
---@class distributions.constraints.dependent_property: distributions.constraints.Constraint
---@overload fun(fn: function, options?: table): distributions.constraints.dependent_property
local dependent_property = Dependent:extend('DependentProperty')

function dependent_property:init(...)
  local bound = property_signature:bind(...)
  self._get, self._is_discrete, self._event_dim = bound.fn, bound.is_discrete, bound.event_dim
end

---Returns whether the constraint is known only for an instance.
---@param constraint distributions.constraints.Constraint
---@return boolean
local function is_dependent(constraint) return class.is(constraint, Dependent) end

local independent_signature = args.signature('independent', {'base_constraint', 'reinterpreted_batch_ndims'})

---A constraint that is satisfied if another one is satisfied for all of the last dimensions. Arguments:
---base_constraint, reinterpreted_batch_ndims (number of dimensions that become part of the event).
---@class distributions.constraints.independent: distributions.constraints.Constraint
---@overload fun(base_constraint: distributions.constraints.Constraint, ...: any): distributions.constraints.independent
local independent = Constraint:extend('IndependentConstraint')

function independent:init(...)
  local bound = independent_signature:bind(...)
  if not class.is(bound.base_constraint, Constraint) then
    errors.raise('argument', 'base_constraint must be a Constraint, got ' .. type(bound.base_constraint))
  end
  local ndims = bound.reinterpreted_batch_ndims
  if type(ndims) ~= 'number' or ndims < 0 or ndims % 1 ~= 0 then
    errors.raise('argument', 'reinterpreted_batch_ndims must be >= 0, got ' .. tostring(ndims))
  end
  self.base_constraint, self.reinterpreted_batch_ndims = bound.base_constraint, ndims
end

independent.is_discrete = properties.property(function(self) return self.base_constraint.is_discrete end)
independent.event_dim = properties.property(function(self)
  return self.base_constraint.event_dim + self.reinterpreted_batch_ndims
end)

function independent:check(value)
  local result, ndims = self.base_constraint:check(value), self.reinterpreted_batch_ndims
  if result:dim() < ndims then
    errors.raise('argument', ('Expected value.dim() >= %d but got %d'):format(self.event_dim, value:dim()))
  end
  return result:reshape(sizes.slice(result.shape, 0, result:dim() - ndims) .. {-1}):all(-1)
end

function independent:_repr()
  return ('IndependentConstraint(%s, %d)'):format(tostring(self.base_constraint), self.reinterpreted_batch_ndims)
end

---Makes a constraint of the components of a mixture a constraint of the mixture, for
---torch.distributions.MixtureSameFamily. Arguments: base_constraint.
---@class distributions.constraints.MixtureSameFamilyConstraint: distributions.constraints.Constraint
---@overload fun(base_constraint: distributions.constraints.Constraint): distributions.constraints.MixtureSameFamilyConstraint
local MixtureSameFamilyConstraint = Constraint:extend('MixtureSameFamilyConstraint')

function MixtureSameFamilyConstraint:init(base_constraint)
  if not class.is(base_constraint, Constraint) then
    errors.raise('argument', 'base_constraint must be a Constraint, got ' .. type(base_constraint))
  end
  self.base_constraint = base_constraint
end

MixtureSameFamilyConstraint.is_discrete = independent.is_discrete
MixtureSameFamilyConstraint.event_dim = properties.property(function(self) return self.base_constraint.event_dim end)

function MixtureSameFamilyConstraint:check(value)
  if value:dim() < self.event_dim then
    errors.raise('argument', ('Expected value.dim() >= %d but got %d'):format(self.event_dim, value:dim()))
  end
  local result = self.base_constraint:check(value:unsqueeze(-1 - self.event_dim))
  return result:reshape(sizes.slice(result.shape, 0, value:dim() - self.event_dim) .. {-1}):all(-1)
end

function MixtureSameFamilyConstraint:_repr()
  return ('MixtureSameFamilyConstraint(%s)'):format(tostring(self.base_constraint))
end

return {Constraint = Constraint, Dependent = Dependent, dependent_property = dependent_property,
        is_dependent = is_dependent, independent = independent,
        MixtureSameFamilyConstraint = MixtureSameFamilyConstraint}
