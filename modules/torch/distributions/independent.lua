-- torch/distributions/independent.lua: Independent: dimensions of the batch as dimensions of the event.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local utils = require 'torch.distributions.utils'

---Treats the last batch dimensions of another distribution as event dimensions: log_prob and entropy are sums over
---them. Arguments: base_distribution, reinterpreted_batch_ndims (number of dimensions), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local distributions = torch.distributions
---local diagonal = distributions.Independent(distributions.Normal(torch.zeros(3), torch.ones(3)), 1)
---assert(diagonal.event_shape == torch.Size{3} and diagonal:log_prob(torch.zeros(3)):dim() == 0)
---```
---@class distributions.Independent: distributions.Distribution
---@overload fun(base_distribution: distributions.Distribution, ...: any): distributions.Independent
---@field base_dist distributions.Distribution
---@field reinterpreted_batch_ndims integer
local Independent = Distribution:extend('Independent')
Independent.arg_constraints = ordered.new()

local signature = args.signature('Independent', {'base_distribution', 'reinterpreted_batch_ndims', {'validate_args'}})

function Independent:init(...)
  local bound = signature:bind(...)
  local base, ndims = bound.base_distribution, bound.reinterpreted_batch_ndims
  if not class.is(base, Distribution) then
    errors.raise('argument', 'Independent: base_distribution is not a Distribution, got ' .. type(base))
  end
  if ndims > #base.batch_shape then
    errors.raise('argument', ('Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual %d vs %d')
      :format(ndims, #base.batch_shape))
  end
  self.base_dist, self.reinterpreted_batch_ndims = base, ndims
  local shape = base.batch_shape .. base.event_shape
  local cut = #shape - ndims - #base.event_shape
  self:_start(sizes.slice(shape, 0, cut), sizes.slice(shape, cut), bound.validate_args)
end

function Independent:_expand_into(new, batch_shape)
  new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
  new.base_dist = self.base_dist:expand(batch_shape .. sizes.slice(self.event_shape, 0, self.reinterpreted_batch_ndims))
end

properties.delegate(Independent, 'base_dist', {'has_rsample', 'mean', 'mode', 'variance'})

Independent.has_enumerate_support = properties.property(function(self)
  return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support
end)

Independent.support = constraints.dependent_property(function(self)
  local support, ndims = self.base_dist.support, self.reinterpreted_batch_ndims
  return ndims > 0 and constraints.independent(support, ndims) or support
end)

-- The base checks values for log_prob; for another distribution's cdf they are checked here.
function Independent:log_prob(...)
  return utils.sum_rightmost(self.base_dist:log_prob(...), self.reinterpreted_batch_ndims)
end

function Independent:_sample(sample_shape) return self.base_dist:sample(sample_shape) end

function Independent:_rsample(sample_shape) return self.base_dist:rsample(sample_shape) end

function Independent:_entropy() return utils.sum_rightmost(self.base_dist:entropy(), self.reinterpreted_batch_ndims) end

function Independent:_enumerate_support(expand)
  if self.reinterpreted_batch_ndims > 0 then
    errors.raise('unsupported', 'Enumeration over cartesian product is not implemented')
  end
  return self.base_dist:enumerate_support(expand)
end

function Independent:_repr()
  return ('%s(%s, %d)'):format(class.of(self).__name, tostring(self.base_dist), self.reinterpreted_batch_ndims)
end

return Independent
