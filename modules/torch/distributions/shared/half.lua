-- torch/distributions/shared/half.lua: common parts of the families of absolute values of symmetric distributions.

local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local transforms = require 'torch.distributions.transforms'

local half = {}

---Adds to a class that extends TransformedDistribution the parts that are the same for all such families.
---@param of table
function half.define(of)
  of.arg_constraints = ordered.new{{'scale', constraints.positive}}
  of.support = constraints.nonnegative
  of.has_rsample = true
  of._expands = {}
  properties.delegate(of, 'base_dist', {'scale'})
  of.mode = properties.property(function(self) return torch.zeros_like(self.scale) end)

  function of:_log_prob(value)
    return torch.where(value:ge(0), self.base_dist:log_prob(value) + math.log(2), -torch.inf)
  end

  function of:_validate_cdf(value) self:_validate_sample(value) end

  function of:_cdf(value) return 2 * self.base_dist:cdf(value) - 1 end

  function of:_icdf(value) return self.base_dist:icdf((value + 1) / 2) end

  function of:_entropy() return self.base_dist:entropy() - math.log(2) end
end

---Runs the init of such a family.
---@param self distributions.TransformedDistribution
---@param Whole table class of the symmetric distribution
---@param bound table arguments
function half.start(self, Whole, bound)
  self:_transform(Whole(0, bound.scale, {validate_args = false}), {transforms.AbsTransform()}, bound.validate_args)
end

return half
