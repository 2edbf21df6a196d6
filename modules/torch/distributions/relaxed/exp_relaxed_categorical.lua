-- torch/distributions/relaxed/exp_relaxed_categorical.lua: ExpRelaxedCategorical: logarithms of RelaxedOneHotCategorical
-- vectors.

local Categorical = require 'torch.distributions.discrete.categorical'
local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The logarithms of RelaxedOneHotCategorical vectors (Maddison et al. 2017). Arguments: temperature (Tensor), {probs (Tensor
---(…, K) of weights), logits (unnormalized log-probabilities, instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---local relaxed = torch.distributions.ExpRelaxedCategorical(torch.tensor(0.5), torch.ones(3))
---assert(math.abs(relaxed:rsample():exp():sum():item() - 1) < 1e-5)
---```
---@class distributions.ExpRelaxedCategorical: distributions.Distribution
---@overload fun(temperature: torch.Tensor, probs?: torch.Tensor, ...: any): distributions.ExpRelaxedCategorical
---@field temperature torch.Tensor
---@field probs torch.Tensor (…, K)
---@field logits torch.Tensor (…, K)
---@field param_shape torch.Size the shape of probs and logits
local ExpRelaxedCategorical = Distribution:extend('ExpRelaxedCategorical')
ExpRelaxedCategorical.arg_constraints = ordered.new{{'probs', constraints.simplex}, {'logits', constraints.real_vector}}
-- The actual support is a subset.
ExpRelaxedCategorical.support = constraints.real_vector
ExpRelaxedCategorical.has_rsample = true
probs_or_logits.delegate(ExpRelaxedCategorical)

local signature = args.signature('ExpRelaxedCategorical', {'temperature', {'probs'}, {'logits'}, {'validate_args'}})

function ExpRelaxedCategorical:init(...)
  local bound = signature:bind(...)
  self._categorical = Categorical{probs = bound.probs, logits = bound.logits}
  self.temperature = utils.broadcast_all(bound.temperature)
  self:_start(self._categorical.batch_shape, sizes.slice(self.param_shape, -1), bound.validate_args)
end

function ExpRelaxedCategorical:_expand_into(new, batch_shape)
  new.temperature, new._categorical = self.temperature, self._categorical:expand(batch_shape)
end

function ExpRelaxedCategorical:_rsample(sample_shape)
  local uniforms = utils.clamp_probs(torch.rand(self:_extended_shape(sample_shape), utils.like(self.logits)))
  local gumbels = -((-uniforms:log()):log())
  local scores = (self.logits + gumbels) / self.temperature
  return scores - scores:logsumexp(-1, true)
end

function ExpRelaxedCategorical:_log_prob(value)
  local k, logits = self._categorical._num_events
  logits, value = utils.broadcast_all(self.logits, value)
  local log_scale = torch.full_like(self.temperature, k):lgamma() - self.temperature:log():mul(-(k - 1))
  local score = logits - value:mul(self.temperature)
  return (score - score:logsumexp(-1, true)):sum(-1) + log_scale
end

return ExpRelaxedCategorical
