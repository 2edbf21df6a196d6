-- torch/distributions/constraint_registry.lua: biject_to and transform_to: the transform from the reals to a constraint.

local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local transforms = require 'torch.distributions.transforms'

---Finds the transform for a constraint: `registry(constraint)`. torch.distributions.biject_to returns bijective
---transforms with a Jacobian, for samplers; torch.distributions.transform_to cheap transforms, for parameters that an
---optimizer changes.
---
---```lua
---local torch = require 'torch'
---local distributions = torch.distributions
---local unconstrained = torch.zeros(3, {requires_grad = true})
---local scale = distributions.transform_to(distributions.Normal.arg_constraints.scale)(unconstrained)
---assert(torch.equal(scale, torch.ones(3)))
---```
---@class distributions.ConstraintRegistry
local ConstraintRegistry = class('ConstraintRegistry')

function ConstraintRegistry:init() self._registry = {} end

---Registers the transform of a class of constraints.
---@param constraint distributions.constraints.Constraint a class of constraints, or an instance of it
---@param factory? fun(constraint: distributions.constraints.Constraint): distributions.transforms.Transform without it,
---  a function that takes the factory is returned, for use as a decorator
---@return function factory
---
---```lua
---local torch = require 'torch'
---local distributions = torch.distributions
---local registry = distributions.ConstraintRegistry()
---registry:register(distributions.constraints.positive, function() return distributions.transforms.SoftplusTransform() end)
---assert(tostring(registry(distributions.constraints.positive)) == 'SoftplusTransform()')
---```
function ConstraintRegistry:register(constraint, factory)
  local of = class.of(constraint) or constraint
  local base = of
  while class.is_class(base) and base ~= constraints.Constraint do base = rawget(base, '__base') end
  if base ~= constraints.Constraint then
    errors.raise('argument', 'Expected constraint to be either a Constraint subclass or instance, but got '
      .. tostring(constraint))
  end
  if factory == nil then return function(given) return self:register(constraint, given) end end
  self._registry[of] = factory
  return factory
end

ConstraintRegistry.__call = function(self, constraint)
  local of = class.of(constraint)
  if not of then
    errors.raise('argument', 'expected a constraint, got ' .. (class.is_class(constraint) and tostring(constraint)
      or type(constraint)))
  end
  local factory = self._registry[of]
  if not factory then errors.raise('unsupported', ('Cannot transform %s constraints'):format(of.__name)) end
  return factory(constraint)
end

local biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()

local function register_both(given, factory)
  for _, constraint in ipairs(given) do
    biject_to:register(constraint, factory)
    transform_to:register(constraint, factory)
  end
end

register_both({constraints.real}, function() return transforms.identity_transform end)

-- positive and nonnegative are such constraints, too.
register_both({constraints.greater_than, constraints.greater_than_eq}, function(constraint)
  return transforms.ComposeTransform{transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)}
end)

register_both({constraints.less_than}, function(constraint)
  return transforms.ComposeTransform{transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)}
end)

register_both({constraints.interval, constraints.half_open_interval}, function(constraint)
  local low, high = constraint.lower_bound, constraint.upper_bound
  if low == 0 and high == 1 then return transforms.SigmoidTransform() end
  return transforms.ComposeTransform{transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)}
end)

biject_to:register(constraints.simplex, function() return transforms.StickBreakingTransform() end)
transform_to:register(constraints.simplex, function() return transforms.SoftmaxTransform() end)
transform_to:register(constraints.lower_cholesky, function() return transforms.LowerCholeskyTransform() end)
for _, constraint in ipairs{constraints.positive_definite, constraints.positive_semidefinite} do
  transform_to:register(constraint, function() return transforms.PositiveDefiniteTransform() end)
end
register_both({constraints.corr_cholesky}, function() return transforms.CorrCholeskyTransform() end)

for _, registry in ipairs{biject_to, transform_to} do
  local function of_each(cseq)
    local out = {}
    for i, constraint in ipairs(cseq) do out[i] = registry(constraint) end
    return out
  end
  registry:register(constraints.independent, function(constraint)
    return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)
  end)
  registry:register(constraints.cat, function(constraint)
    return transforms.CatTransform(of_each(constraint.cseq), constraint.dim, constraint.lengths)
  end)
  registry:register(constraints.stack, function(constraint)
    return transforms.StackTransform(of_each(constraint.cseq), constraint.dim)
  end)
end

return {ConstraintRegistry = ConstraintRegistry, biject_to = biject_to, transform_to = transform_to}
