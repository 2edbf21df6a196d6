-- torch/distributions/discrete/bernoulli.lua: Bernoulli: 1 or 0.

local ExponentialFamily = require 'torch.distributions.exponential_family'
local F = require 'torch.nn.functional'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---1 with probability probs, else 0. Arguments: {probs (probability of 1), logits (its log-odds, instead of probs),
---validate_args}.
---
---```lua
---local torch = require 'torch'
---local coin = torch.distributions.Bernoulli(torch.tensor{0.3})
---assert(coin:sample().shape == torch.Size{1} and math.abs(coin.variance:item() - 0.21) < 1e-6)
---```
---@class distributions.Bernoulli: distributions.ExponentialFamily
---@overload fun(probs?: number|torch.Tensor, logits?: number|torch.Tensor, validate_args?: boolean): distributions.Bernoulli
---@field probs torch.Tensor the probability of 1
---@field logits torch.Tensor the log-odds of 1
---@field param_shape torch.Size the shape of probs and logits
local Bernoulli = ExponentialFamily:extend('Bernoulli')
Bernoulli.arg_constraints = ordered.new{{'probs', constraints.unit_interval}, {'logits', constraints.real}}
Bernoulli.support = constraints.boolean
Bernoulli.has_enumerate_support = true
Bernoulli._mean_carrier_measure = 0
Bernoulli._expands = {'probs', 'logits'}
probs_or_logits.define(Bernoulli, true)

local signature = args.signature('Bernoulli', {{'probs'}, {'logits'}, {'validate_args'}})

function Bernoulli:init(...)
  local bound = signature:bind(...)
  self:_start_with({probs_or_logits.given(bound)}, bound)
end

Bernoulli.mean = properties.property(function(self) return self.probs end)

Bernoulli.mode = properties.property(function(self)
  local mode = self.probs:ge(0.5):to(self.probs)
  mode[self.probs:eq(0.5)] = torch.nan
  return mode
end)

Bernoulli.variance = properties.property(function(self) return self.probs * (1 - self.probs) end)

function Bernoulli:_sample(sample_shape)
  return torch.bernoulli(self.probs:expand(self:_extended_shape(sample_shape)))
end

function Bernoulli:_log_prob(value)
  local logits
  logits, value = utils.broadcast_all(self.logits, value)
  return -F.binary_cross_entropy_with_logits(logits, value, {reduction = 'none'})
end

function Bernoulli:_entropy()
  return F.binary_cross_entropy_with_logits(self.logits, self.probs, {reduction = 'none'})
end

function Bernoulli:_enumerate_support(expand)
  return self:_enumerated(torch.arange(2, utils.like(self._param)), expand)
end

Bernoulli._natural_params = properties.property(function(self) return {torch.logit(self.probs)} end)

function Bernoulli:_log_normalizer(x) return torch.log1p(torch.exp(x)) end

return Bernoulli
