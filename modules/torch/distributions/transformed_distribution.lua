-- torch/distributions/transformed_distribution.lua: TransformedDistribution: transforms a distribution's samples.

local ComposeTransform = require 'torch.distributions.transforms.compose'
local Distribution = require 'torch.distributions.distribution'
local Independent = require 'torch.distributions.independent'
local Transform = require 'torch.distributions.transforms.transform'
local args = require 'base.args'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The distribution of transformed samples of another distribution. Arguments: base_distribution, transforms (a
---Transform or a list of them, applied in order), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local distributions, transforms = torch.distributions, torch.distributions.transforms
---local base = distributions.Uniform(torch.zeros(2), torch.ones(2))
---local logistic = distributions.TransformedDistribution(base, {transforms.SigmoidTransform().inv})
---assert(logistic:sample().shape == torch.Size{2} and logistic:cdf(torch.zeros(2))[0]:item() == 0.5)
---```
---@class distributions.TransformedDistribution: distributions.Distribution
---@overload fun(base_distribution: distributions.Distribution, ...: any): distributions.TransformedDistribution
---@field base_dist distributions.Distribution
---@field transforms distributions.transforms.Transform[]
local TransformedDistribution = Distribution:extend('TransformedDistribution')
TransformedDistribution.arg_constraints = ordered.new()
TransformedDistribution._expands = {}

local function transforms_of(given)
  if class.is(given, Transform) then return {given} end
  if type(given) ~= 'table' or class.of(given) then
    errors.raise('argument', 'transforms must be a Transform or list, but was ' .. tostring(given))
  end
  for _, transform in ipairs(given) do
    if not class.is(transform, Transform) then
      errors.raise('argument', 'transforms must be a Transform or a list of Transforms')
    end
  end
  return given
end

local signature = args.signature('TransformedDistribution', {'base_distribution', 'transforms', {'validate_args'}})

function TransformedDistribution:init(...)
  local bound = signature:bind(...)
  if not class.is(bound.base_distribution, Distribution) then
    errors.raise('argument', 'TransformedDistribution: base_distribution is not a Distribution, got '
      .. type(bound.base_distribution))
  end
  self:_transform(bound.base_distribution, transforms_of(bound.transforms), bound.validate_args)
end

-- Returns the base with the batch shape and the event dimensions that the transforms require.
local function fitted(base, transform, base_shape, forward_shape)
  local expanded = transform:inverse_shape(forward_shape)
  local event_dim = #base.event_shape
  if base_shape ~= expanded then base = base:expand(sizes.slice(expanded, 0, #expanded - event_dim)) end
  local ndims = transform.domain.event_dim - event_dim
  return ndims > 0 and Independent(base, ndims) or base
end

function TransformedDistribution:_transform(base, transforms, validate_args)
  self.transforms = transforms
  local base_shape, base_event_dim = base.batch_shape .. base.event_shape, #base.event_shape
  local transform = ComposeTransform(transforms)
  local domain_dim, codomain_dim = transform.domain.event_dim, transform.codomain.event_dim
  if #base_shape < domain_dim then
    errors.raise('argument', ('base_distribution needs to have shape with size at least %d, but got %s.'):format(
      domain_dim, tostring(base_shape)))
  end
  local forward_shape = transform:forward_shape(base_shape)
  self.base_dist = fitted(base, transform, base_shape, forward_shape)
  local cut = #forward_shape - math.max(codomain_dim, base_event_dim + codomain_dim - domain_dim)
  self:_start(sizes.slice(forward_shape, 0, cut), sizes.slice(forward_shape, cut), validate_args)
end

function TransformedDistribution:_expand_into(new, batch_shape)
  Distribution._expand_into(self, new, batch_shape)
  local shape = batch_shape .. self.event_shape
  for i = #self.transforms, 1, -1 do shape = self.transforms[i]:inverse_shape(shape) end
  new.base_dist = self.base_dist:expand(sizes.slice(shape, 0, #shape - #self.base_dist.event_shape))
  new.transforms = self.transforms
end

TransformedDistribution.support = constraints.dependent_property(function(self)
  local last = self.transforms[#self.transforms]
  if not last then return self.base_dist.support end
  local support, event_dim = last.codomain, #self.event_shape
  if event_dim > support.event_dim then support = constraints.independent(support, event_dim - support.event_dim) end
  return support
end, {is_discrete = false})

TransformedDistribution.has_rsample = properties.property(function(self) return self.base_dist.has_rsample end)

function TransformedDistribution:_applied(x)
  for _, transform in ipairs(self.transforms) do x = transform(x) end
  return x
end

function TransformedDistribution:_sample(sample_shape) return self:_applied(self.base_dist:sample(sample_shape)) end

function TransformedDistribution:_rsample(sample_shape) return self:_applied(self.base_dist:rsample(sample_shape)) end

function TransformedDistribution:_log_prob(value)
  local event_dim, log_prob, y = #self.event_shape, 0, value
  for i = #self.transforms, 1, -1 do
    local transform = self.transforms[i]
    local x, domain_dim = transform.inv(y), transform.domain.event_dim
    event_dim = event_dim + domain_dim - transform.codomain.event_dim
    log_prob = log_prob - utils.sum_rightmost(transform:log_abs_det_jacobian(x, y), event_dim - domain_dim)
    y = x
  end
  return log_prob + utils.sum_rightmost(self.base_dist:log_prob(y), event_dim - #self.base_dist.event_shape)
end

-- For decreasing transforms the cdf is 1 minus that of the base.
function TransformedDistribution:_monotonized(value)
  local sign = 1
  for _, transform in ipairs(self.transforms) do sign = sign * transform.sign end
  if not torch.is_tensor(sign) and sign == 1 then return value end
  return sign * (value - 0.5) + 0.5
end

-- Does nothing: the base's support is checked.
function TransformedDistribution:_validate_cdf() end

function TransformedDistribution:_cdf(value)
  for i = #self.transforms, 1, -1 do value = self.transforms[i].inv(value) end
  if self._validate_args then self.base_dist:_validate_sample(value) end
  return self:_monotonized(self.base_dist:cdf(value))
end

function TransformedDistribution:_icdf(value)
  return self:_applied(self.base_dist:icdf(self:_monotonized(value)))
end

return TransformedDistribution
