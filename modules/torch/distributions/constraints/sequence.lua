-- torch/distributions/constraints/sequence.lua: a constraint for each part of a tensor: cat and stack.

local Constraint = require('torch.distributions.constraints.constraint').Constraint
local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'

local function check_constraints(cseq)
  for _, constraint in ipairs(cseq) do
    if not class.is(constraint, Constraint) then
      errors.raise('argument', 'All elements of cseq must be Constraint instances')
    end
  end
end

local function check_dim(dim, value)
  if dim < -value:dim() or dim >= value:dim() then
    errors.raise('argument', ('dim %d out of range for value with %d dimensions'):format(dim, value:dim()))
  end
end

local function is_any_discrete(self)
  for _, constraint in ipairs(self.cseq) do
    if constraint.is_discrete then return true end
  end
  return false
end

local function largest_event_dim(self)
  local largest = 0
  for _, constraint in ipairs(self.cseq) do largest = math.max(largest, constraint.event_dim) end
  return largest
end

local cat_signature = args.signature('cat', {'cseq', {'dim', 0}, {'lengths'}})

---Constraints of the parts that torch.cat concatenates. Arguments: cseq (a list of constraints), dim = 0, lengths (of
---the parts in that dimension; 1 each).
---@class distributions.constraints.cat: distributions.constraints.Constraint
---@overload fun(cseq: distributions.constraints.Constraint[], dim?: integer, ...: any): distributions.constraints.cat
local cat = Constraint:extend('Cat')

function cat:init(...)
  local bound = cat_signature:bind(...)
  check_constraints(bound.cseq)
  self.cseq, self.dim = bound.cseq, bound.dim
  self.lengths = bound.lengths or sizes.repeated(1, #self.cseq)
  if #self.lengths ~= #self.cseq then
    errors.raise('argument', ('lengths (%d) must match cseq (%d)'):format(#self.lengths, #self.cseq))
  end
end

cat.is_discrete = properties.property(is_any_discrete)
cat.event_dim = properties.property(largest_event_dim)

function cat:check(value)
  check_dim(self.dim, value)
  local checks, start = {}, 0
  for i, constraint in ipairs(self.cseq) do
    checks[i] = constraint:check(value:narrow(self.dim, start, self.lengths[i]))
    start = start + self.lengths[i]
  end
  return torch.cat(checks, self.dim)
end

local stack_signature = args.signature('stack', {'cseq', {'dim', 0}})

---Constraints of the parts that torch.stack stacks. Arguments: cseq (a list of constraints), dim = 0.
---@class distributions.constraints.stack: distributions.constraints.Constraint
---@overload fun(cseq: distributions.constraints.Constraint[], dim?: integer): distributions.constraints.stack
local stack = Constraint:extend('Stack')

function stack:init(...)
  local bound = stack_signature:bind(...)
  check_constraints(bound.cseq)
  self.cseq, self.dim = bound.cseq, bound.dim
end

stack.is_discrete = properties.property(is_any_discrete)
stack.event_dim = properties.property(function(self)
  local largest = largest_event_dim(self)
  return self.dim + largest < 0 and largest + 1 or largest
end)

function stack:check(value)
  check_dim(self.dim, value)
  local checks = {}
  for i, constraint in ipairs(self.cseq) do checks[i] = constraint:check(value:select(self.dim, i - 1)) end
  return torch.stack(checks, self.dim)
end

return {cat = cat, stack = stack}
