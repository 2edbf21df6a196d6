-- torch/distributions/transforms/cumulative_distribution.lua: CumulativeDistributionTransform: by a distribution's cdf.

local Transform = require 'torch.distributions.transforms.transform'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local properties = require 'torch.distributions.shared.properties'

---Computes y = distribution:cdf(x), x = distribution:icdf(y). Arguments: distribution, cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local distributions = torch.distributions
---local transform = distributions.transforms.CumulativeDistributionTransform(distributions.Normal(0, 1))
---local base = distributions.MultivariateNormal(torch.zeros(2), {covariance_matrix = torch.tensor{{1, 0.5}, {0.5, 1}}})
---local copula = distributions.TransformedDistribution(base, {transform})
---assert(transform(torch.tensor(0)):item() == 0.5 and #copula:sample() == 2)
---```
---@class distributions.transforms.CumulativeDistributionTransform: distributions.transforms.Transform
---@overload fun(distribution: distributions.Distribution, ...: any): distributions.transforms.CumulativeDistributionTransform
local CumulativeDistributionTransform = Transform:extend('CumulativeDistributionTransform')
CumulativeDistributionTransform.codomain = constraints.unit_interval
CumulativeDistributionTransform.bijective, CumulativeDistributionTransform.sign = true, 1

local signature = args.signature('CumulativeDistributionTransform', {'distribution', {'cache_size', 0}})

function CumulativeDistributionTransform:init(...)
  local bound = signature:bind(...)
  self:_set_cache(bound.cache_size)
  self.distribution = bound.distribution
end

CumulativeDistributionTransform.domain = properties.property(function(self) return self.distribution.support end)

function CumulativeDistributionTransform:_call(x) return self.distribution:cdf(x) end

function CumulativeDistributionTransform:_inverse(y) return self.distribution:icdf(y) end

function CumulativeDistributionTransform:log_abs_det_jacobian(x) return self.distribution:log_prob(x) end

function CumulativeDistributionTransform:_copy(cache_size)
  return CumulativeDistributionTransform(self.distribution, cache_size)
end

return CumulativeDistributionTransform
