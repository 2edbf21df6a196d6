-- torch/distributions/mixture_same_family.lua: MixtureSameFamily: a mixture of distributions of one family.

local Categorical = require 'torch.distributions.discrete.categorical'
local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'

---A mixture: a Categorical chooses the component of each sample. Arguments: mixture_distribution (a Categorical with as
---many classes as there are components), component_distribution (its last batch dimension is the components),
---{validate_args}.
---
---```lua
---local torch = require 'torch'
---local distributions = torch.distributions
---local weights = distributions.Categorical(torch.tensor{0.5, 0.5})
---local mixture = distributions.MixtureSameFamily(weights, distributions.Normal(torch.tensor{-1, 3}, torch.ones(2)))
---assert(mixture.mean:item() == 1 and mixture:sample{5}.shape == torch.Size{5})
---```
---@class distributions.MixtureSameFamily: distributions.Distribution
---@overload fun(mixture_distribution: distributions.Categorical, ...: any): distributions.MixtureSameFamily
---@field mixture_distribution distributions.Categorical
---@field component_distribution distributions.Distribution
local MixtureSameFamily = Distribution:extend('MixtureSameFamily')
MixtureSameFamily.arg_constraints = ordered.new()

local signature = args.signature('MixtureSameFamily', {'mixture_distribution', 'component_distribution',
  {'validate_args'}})

local function check_components(mixture, component)
  if not class.is(mixture, Categorical) then
    errors.raise('argument', 'The Mixture distribution needs to be an instance of torch.distributions.Categorical')
  end
  if not class.is(component, Distribution) then
    errors.raise('argument', 'The Component distribution need to be an instance of torch.distributions.Distribution')
  end
  local of_mixture, of_component = mixture.batch_shape, sizes.slice(component.batch_shape, 0, -1)
  for i = 0, math.min(#of_mixture, #of_component) - 1 do
    local a, b = of_mixture[#of_mixture - i], of_component[#of_component - i]
    if a ~= 1 and b ~= 1 and a ~= b then
      errors.raise('argument', ('`mixture_distribution.batch_shape` (%s) is not compatible with '
        .. '`component_distribution.batch_shape`(%s)'):format(tostring(of_mixture), tostring(of_component)))
    end
  end
  local classes, components = mixture.logits:size(-1), component.batch_shape[#component.batch_shape]
  if classes ~= components then
    errors.raise('argument', ('`mixture_distribution component` (%d) does not equal '
      .. '`component_distribution.batch_shape[-1]` (%s)'):format(classes, tostring(components)))
  end
end

function MixtureSameFamily:init(...)
  local bound = signature:bind(...)
  local component = bound.component_distribution
  check_components(bound.mixture_distribution, component)
  self.mixture_distribution, self.component_distribution = bound.mixture_distribution, component
  self:_start(sizes.slice(component.batch_shape, 0, -1), component.event_shape, bound.validate_args)
end

function MixtureSameFamily:_expand_into(new, batch_shape)
  new.component_distribution = self.component_distribution:expand(batch_shape .. {self.mixture_distribution._num_events})
  new.mixture_distribution = self.mixture_distribution:expand(batch_shape)
end

MixtureSameFamily.support = constraints.dependent_property(function(self)
  return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)
end)

-- Adds a dimension for the components.
local function padded(self, x) return x:unsqueeze(-1 - #self.event_shape) end

-- Returns the weights with dimensions for the batch and the event.
local function weights(self)
  local probs, mixture_dims = self.mixture_distribution.probs, #self.mixture_distribution.batch_shape
  local missing = mixture_dims == 1 and 0 or #self.batch_shape - mixture_dims
  local shape = sizes.slice(probs.shape, 0, -1) .. sizes.repeated(1, missing) .. sizes.slice(probs.shape, -1)
  return probs:reshape(shape .. sizes.repeated(1, #self.event_shape))
end

MixtureSameFamily.mean = properties.property(function(self)
  return torch.sum(weights(self) * self.component_distribution.mean, -1 - #self.event_shape)
end)

-- By the law of total variance.
MixtureSameFamily.variance = properties.property(function(self)
  local probs, dim = weights(self), -1 - #self.event_shape
  local component = self.component_distribution
  local mean_cond_var = torch.sum(probs * component.variance, dim)
  local var_cond_mean = torch.sum(probs * (component.mean - padded(self, self.mean)):pow(2), dim)
  return mean_cond_var + var_cond_mean
end)

-- Does nothing: the components check the value.
function MixtureSameFamily:_validate_cdf() end

function MixtureSameFamily:_cdf(value)
  return torch.sum(self.component_distribution:cdf(padded(self, value)) * self.mixture_distribution.probs, -1)
end

function MixtureSameFamily:_log_prob(value)
  local log_prob = self.component_distribution:log_prob(padded(self, value))
  local log_weights = torch.log_softmax(self.mixture_distribution.logits, -1)
  return torch.logsumexp(log_prob + log_weights, -1)
end

function MixtureSameFamily:_sample(sample_shape)
  local dim, event_shape = #sample_shape + #self.batch_shape, self.event_shape
  local chosen = self.mixture_distribution:sample(sample_shape)
  local ones = sizes.repeated(1, chosen:dim())
  local samples = self.component_distribution:sample(sample_shape)
  local index = chosen:reshape(chosen.shape .. sizes.repeated(1, #event_shape + 1))
  index = index:repeat_(torch.Size(ones) .. {1} .. event_shape)
  return torch.gather(samples, dim, index):squeeze(dim)
end

function MixtureSameFamily:_repr()
  return ('MixtureSameFamily(\n  %s,\n  %s)'):format(tostring(self.mixture_distribution),
    tostring(self.component_distribution))
end

return MixtureSameFamily
