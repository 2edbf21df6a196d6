-- torch/distributions/constraints/interval.lua: constraints of single numbers: intervals of reals and of integers, booleans.

local Constraint = require('torch.distributions.constraints.constraint').Constraint
local class = require 'base.class'
local errors = require 'base.errors'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

-- Returns a class with bounds: `bounds` are the parameters of init, in order; `check` tests a value.
local function bounded(name, bounds, is_discrete, check)
  local new = Constraint:extend(name)
  new.is_discrete = is_discrete
  local signature = require('base.args').signature(name, bounds)
  function new:init(...)
    local bound = signature:bind(...)
    for _, field in ipairs(bounds) do
      if type(bound[field]) ~= 'number' and not torch.is_tensor(bound[field]) then
        errors.raise('argument', ('%s: %s: expected a number or a Tensor, got %s'):format(name, field, type(bound[field])))
      end
      self[field] = bound[field]
    end
  end
  function new:check(value)
    local valid = check(self, value)
    return is_discrete and (value % 1):eq(0):logical_and(valid) or valid
  end
  function new:_repr()
    local texts = {}
    for i, field in ipairs(bounds) do texts[i] = ('%s=%s'):format(field, utils.text(self[field], not is_discrete)) end
    return ('%s(%s)'):format(class.of(self).__name, table.concat(texts, ', '))
  end
  return new
end

local LOWER, UPPER, BOTH = {'lower_bound'}, {'upper_bound'}, {'lower_bound', 'upper_bound'}

---Reals above a bound: (lower_bound, inf]. Arguments: lower_bound.
---
---```lua
---local torch = require 'torch'
---local positive = torch.distributions.constraints.greater_than(0)
---assert(tostring(positive:check(torch.tensor{0, 1, -1})) == 'tensor([False,  True, False])')
---```
---@class distributions.constraints.greater_than: distributions.constraints.Constraint
---@overload fun(lower_bound: number|torch.Tensor): distributions.constraints.greater_than
local greater_than = bounded('GreaterThan', LOWER, false, function(self, value) return value:gt(self.lower_bound) end)

---Reals not below a bound: [lower_bound, inf]. Arguments: lower_bound.
---@class distributions.constraints.greater_than_eq: distributions.constraints.Constraint
---@overload fun(lower_bound: number|torch.Tensor): distributions.constraints.greater_than_eq
local greater_than_eq = bounded('GreaterThanEq', LOWER, false, function(self, value) return value:ge(self.lower_bound) end)

---Reals below a bound: [-inf, upper_bound). Arguments: upper_bound.
---@class distributions.constraints.less_than: distributions.constraints.Constraint
---@overload fun(upper_bound: number|torch.Tensor): distributions.constraints.less_than
local less_than = bounded('LessThan', UPPER, false, function(self, value) return value:lt(self.upper_bound) end)

---Reals in [lower_bound, upper_bound]. Arguments: lower_bound, upper_bound.
---@class distributions.constraints.interval: distributions.constraints.Constraint
---@overload fun(lower_bound: number|torch.Tensor, upper_bound: number|torch.Tensor): distributions.constraints.interval
local interval = bounded('Interval', BOTH, false, function(self, value)
  return value:ge(self.lower_bound):logical_and(value:le(self.upper_bound))
end)

---Reals in [lower_bound, upper_bound). Arguments: lower_bound, upper_bound.
---@class distributions.constraints.half_open_interval: distributions.constraints.Constraint
---@overload fun(lower_bound: number|torch.Tensor, ...: any): distributions.constraints.half_open_interval
local half_open_interval = bounded('HalfOpenInterval', BOTH, false, function(self, value)
  return value:ge(self.lower_bound):logical_and(value:lt(self.upper_bound))
end)

---Integers in [lower_bound, upper_bound]. Arguments: lower_bound, upper_bound.
---@class distributions.constraints.integer_interval: distributions.constraints.Constraint
---@overload fun(lower_bound: number|torch.Tensor, upper_bound: number|torch.Tensor): distributions.constraints.integer_interval
local integer_interval = bounded('IntegerInterval', BOTH, true, function(self, value)
  return value:ge(self.lower_bound):logical_and(value:le(self.upper_bound))
end)

-- Integers not below a bound: nonnegative_integer, positive_integer.
local IntegerGreaterThan = bounded('IntegerGreaterThan', LOWER, true, function(self, value)
  return value:ge(self.lower_bound)
end)

-- Every number that is not NaN.
local Real = Constraint:extend('Real')

function Real:check(value) return value:eq(value) end

local Boolean = Constraint:extend('Boolean')
Boolean.is_discrete = true

function Boolean:check(value) return value:eq(0):logical_or(value:eq(1)) end

return {greater_than = greater_than, greater_than_eq = greater_than_eq, less_than = less_than, interval = interval,
        half_open_interval = half_open_interval, integer_interval = integer_interval,
        IntegerGreaterThan = IntegerGreaterThan, Real = Real, Boolean = Boolean}
