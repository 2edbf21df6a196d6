-- torch/distributions/discrete/binomial.lua: Binomial: number of successful trials.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The number of successes in total_count trials. Arguments: total_count = 1, {probs (probability of success), logits
---(its log-odds, instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---local binomial = torch.distributions.Binomial(100, {probs = torch.tensor{0, 0.25, 1}})
---assert(torch.equal(binomial.mean, torch.tensor{0, 25, 100}))
---```
---@class distributions.Binomial: distributions.Distribution
---@overload fun(total_count?: integer|torch.Tensor, probs?: torch.Tensor, ...: any): distributions.Binomial
---@field total_count torch.Tensor number of trials
---@field probs torch.Tensor the probability of success
---@field logits torch.Tensor the log-odds of success
---@field param_shape torch.Size the shape of probs and logits
local Binomial = Distribution:extend('Binomial')
Binomial.arg_constraints = ordered.new{
  {'total_count', constraints.nonnegative_integer}, {'probs', constraints.unit_interval}, {'logits', constraints.real}}
Binomial.has_enumerate_support = true
Binomial._expands = {'total_count', 'probs', 'logits'}
probs_or_logits.define(Binomial, true)

local signature = args.signature('Binomial', {{'total_count', 1}, {'probs'}, {'logits'}, {'validate_args'}})

function Binomial:init(...) probs_or_logits.start_with_count(self, signature:bind(...)) end

Binomial.support = constraints.dependent_property(function(self)
  return constraints.integer_interval(0, self.total_count)
end, {is_discrete = true, event_dim = 0})

Binomial.mean = properties.property(function(self) return self.total_count * self.probs end)

Binomial.mode = properties.property(function(self)
  return ((self.total_count + 1) * self.probs):floor():clamp{max = self.total_count}
end)

Binomial.variance = properties.property(function(self) return self.total_count * self.probs * (1 - self.probs) end)

function Binomial:_sample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  return torch.binomial(self.total_count:expand(shape), self.probs:expand(shape))
end

-- Computes clamp {min = 0} with a gradient of 0.5 at 0.
local function clamp_by_zero(x) return (x:clamp{min = 0} + x - x:clamp{max = 0}) / 2 end

function Binomial:_log_prob(value)
  local count, logits = self.total_count, self.logits
  local log_factorial_n = torch.lgamma(count + 1)
  local log_factorial_k = torch.lgamma(value + 1)
  local log_factorial_nmk = torch.lgamma(count - value + 1)
  -- k log p + (n - k) log(1 - p), only with exponentials of negative numbers.
  local normalize_term = count * clamp_by_zero(logits) + count * torch.log1p(torch.exp(-torch.abs(logits)))
    - log_factorial_n
  return value * logits - log_factorial_k - log_factorial_nmk - normalize_term
end

-- Returns the common total_count of the batch.
local function common_count(self, name)
  local count = self.total_count:max():item()
  if self.total_count:min():item() ~= count then
    errors.raise('unsupported', ('Inhomogeneous total count not supported by `%s`.'):format(name))
  end
  return count
end

function Binomial:_entropy()
  common_count(self, 'entropy')
  local log_prob = self:log_prob(self:enumerate_support(false))
  return -(torch.exp(log_prob) * log_prob):sum(0)
end

function Binomial:_enumerate_support(expand)
  local count = common_count(self, 'enumerate_support')
  return self:_enumerated(torch.arange(count + 1, utils.like(self._param)), expand)
end

return Binomial
