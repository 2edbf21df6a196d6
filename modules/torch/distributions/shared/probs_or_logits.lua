-- torch/distributions/shared/probs_or_logits.lua: families whose parameter is given as probs or as logits.

local errors = require 'base.errors'
local properties = require 'torch.distributions.shared.properties'
local utils = require 'torch.distributions.utils'

local probs_or_logits = {}

---Raises an error unless exactly one of the two was given.
---@param bound table arguments
---@return string name 'probs' or 'logits'
function probs_or_logits.given(bound)
  if (bound.probs == nil) == (bound.logits == nil) then
    errors.raise('argument', 'Either `probs` or `logits` must be specified, but not both.')
  end
  return bound.probs ~= nil and 'probs' or 'logits'
end

---Adds the fields probs and logits to a class; the field that was not given is computed from the other.
---@param of table
---@param is_binary boolean whether logits are log-odds
function probs_or_logits.define(of, is_binary)
  of.logits = properties.lazy_property(function(self) return utils.probs_to_logits(self.probs, is_binary) end)
  of.probs = properties.lazy_property(function(self) return utils.logits_to_probs(self.logits, is_binary) end)
  -- Returns the given one of the two: they have the same shape, dtype and device.
  of._param = properties.property(function(self) return rawget(self, 'probs') or rawget(self, 'logits') end)
  of.param_shape = properties.property(function(self) return self._param.shape end)
end

---Runs the init of a family of counts: sets total_count, in the other parameter's dtype, and probs or logits.
---@param self distributions.Distribution
---@param bound table arguments
function probs_or_logits.start_with_count(self, bound)
  local given = probs_or_logits.given(bound)
  local total_count, param = utils.broadcast_all(bound.total_count, bound[given])
  self.total_count, self[given] = total_count:type_as(param), param
  self:_start(param.shape, nil, bound.validate_args)
end

---Adds fields to a class that are read from the distribution in its `_categorical`.
---@param of table
function probs_or_logits.delegate(of)
  properties.delegate(of, '_categorical', {'logits', 'probs', '_param', 'param_shape'})
end

return probs_or_logits
