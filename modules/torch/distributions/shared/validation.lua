-- torch/distributions/shared/validation.lua: checks of parameters and values.

local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local warnings = require 'base.warnings'

local validation = {}

---Returns the names of the parameters, in the order of the class; sorted if it has a plain table.
---@param self distributions.Distribution
---@return string[]
function validation.parameter_names(self)
  return ordered.names_of(self.arg_constraints or {})
end

---Raises an error if a parameter does not satisfy its constraint.
---@param self distributions.Distribution
function validation.check_parameters(self)
  if not self.arg_constraints then
    warnings.warn(('%s does not define `arg_constraints`. Please set `arg_constraints = {}` or initialize the '
      .. 'distribution with `validate_args = false` to turn off validation.'):format(class.of(self).__name))
  end
  for _, name in ipairs(validation.parameter_names(self)) do
    local constraint = self.arg_constraints[name]
    if not constraints.is_dependent(constraint) and not properties.is_pending(self, name) then
      local value = self[name]
      if not constraint:check(value):all():item() then
        errors.raise('argument', ('Expected parameter %s (Tensor of shape %s) of distribution %s to satisfy the constraint '
          .. '%s, but found invalid values:\n%s'):format(name, sizes.text(value.shape), tostring(self),
          tostring(constraint), tostring(value)))
      end
    end
  end
end

local function check_shape(self, value)
  local shape, expected = value.shape, self.batch_shape .. self.event_shape
  local event = sizes.slice(shape, math.max(#shape - #self.event_shape, 0))
  if event ~= self.event_shape then
    errors.raise('argument', ('The right-most size of value must match event_shape: %s vs %s.'):format(tostring(shape),
      tostring(self.event_shape)))
  end
  for i = 0, math.min(#shape, #expected) - 1 do
    local have, want = shape[#shape - i], expected[#expected - i]
    if have ~= 1 and want ~= 1 and have ~= want then
      errors.raise('argument', ('Value is not broadcastable with batch_shape+event_shape: %s vs %s.'):format(
        tostring(shape), tostring(expected)))
    end
  end
end

---Raises an error if the value does not fit batch_shape and event_shape, or is outside of the support.
---@param self distributions.Distribution
---@param value torch.Tensor
function validation.check_sample(self, value)
  if not torch.is_tensor(value) then
    errors.raise('argument', 'The value argument to log_prob must be a Tensor, got ' .. type(value))
  end
  check_shape(self, value)
  local support = self.support
  if not support then
    warnings.warn(('%s does not define `support` to enable sample validation. Please initialize the distribution with '
      .. '`validate_args = false` to turn off validation.'):format(class.of(self).__name))
    return
  end
  if not support:check(value):all():item() then
    errors.raise('argument', ('Expected value argument (Tensor of shape %s) to be within the support (%s) of the '
      .. 'distribution %s, but found invalid values:\n%s'):format(sizes.text(value.shape), tostring(support),
      tostring(self), tostring(value)))
  end
end

return validation
