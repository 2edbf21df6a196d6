-- torch/distributions/discrete/multinomial.lua: Multinomial: how often each class is drawn.

local Binomial = require 'torch.distributions.discrete.binomial'
local Categorical = require 'torch.distributions.discrete.categorical'
local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---How often each of K classes is drawn in total_count draws. Arguments: total_count = 1 (one number for the whole batch),
---{probs (Tensor (…, K) of weights, normalized here), logits (unnormalized log-probabilities, instead of probs),
---validate_args}.
---
---```lua
---local torch = require 'torch'
---local multinomial = torch.distributions.Multinomial(100, torch.ones(4))
---assert(multinomial:sample():sum():item() == 100 and multinomial.mean[0]:item() == 25)
---```
---@class distributions.Multinomial: distributions.Distribution
---@overload fun(total_count?: integer, probs?: torch.Tensor, logits?: torch.Tensor, ...: any): distributions.Multinomial
---@field total_count integer
---@field probs torch.Tensor (…, K)
---@field logits torch.Tensor (…, K)
---@field param_shape torch.Size the shape of probs and logits
local Multinomial = Distribution:extend('Multinomial')
Multinomial.arg_constraints = ordered.new{{'probs', constraints.simplex}, {'logits', constraints.real_vector}}
probs_or_logits.delegate(Multinomial)

local signature = args.signature('Multinomial', {{'total_count', 1}, {'probs'}, {'logits'}, {'validate_args'}})

function Multinomial:init(...)
  local bound = signature:bind(...)
  if type(bound.total_count) ~= 'number' then
    errors.raise('unsupported', 'inhomogeneous total_count is not supported')
  end
  self.total_count = bound.total_count
  self._categorical = Categorical{probs = bound.probs, logits = bound.logits}
  self._binomial = Binomial(bound.total_count, self.probs)
  self:_start(self._categorical.batch_shape, sizes.slice(self.param_shape, -1), bound.validate_args)
end

function Multinomial:_expand_into(new, batch_shape)
  new.total_count, new._categorical = self.total_count, self._categorical:expand(batch_shape)
  new._binomial = self._binomial
end

Multinomial.support = constraints.dependent_property(function(self)
  return constraints.multinomial(self.total_count)
end, {is_discrete = true, event_dim = 1})

Multinomial.mean = properties.property(function(self) return self.probs * self.total_count end)
Multinomial.variance = properties.property(function(self) return self.total_count * self.probs * (1 - self.probs) end)

function Multinomial:_sample(sample_shape)
  local samples = self._categorical:sample(torch.Size{self.total_count} .. sample_shape)
  -- The draws become the last dimension.
  local order = {}
  for i = 1, samples:dim() - 1 do order[i] = i end
  order[#order + 1] = 0
  samples = samples:permute(order)
  local counts = torch.zeros(self:_extended_shape(sample_shape), utils.like(samples))
  return counts:scatter_add_(-1, samples, torch.ones_like(samples)):type_as(self.probs)
end

function Multinomial:_entropy()
  local n = torch.tensor(self.total_count)
  local term1 = n * self._categorical:entropy() - torch.lgamma(n + 1)
  local support = self._binomial:enumerate_support(false)
  support = support:narrow(0, 1, support:size(0) - 1)
  local binomial_probs = torch.exp(self._binomial:log_prob(support))
  return term1 + (binomial_probs * torch.lgamma(support + 1)):sum{0, -1}
end

function Multinomial:_log_prob(value)
  local logits
  logits, value = utils.broadcast_all(self.logits, value)
  logits = logits:clone{memory_format = torch.contiguous_format}
  local log_factorial_n = torch.lgamma(value:sum(-1) + 1)
  local log_factorial_xs = torch.lgamma(value + 1):sum(-1)
  logits[value:eq(0):logical_and(logits:eq(-torch.inf))] = 0
  return log_factorial_n - log_factorial_xs + (logits * value):sum(-1)
end

return Multinomial
