-- torch/distributions/relaxed/logit_relaxed_bernoulli.lua: LogitRelaxedBernoulli: the log-odds of a RelaxedBernoulli number.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The log-odds of a RelaxedBernoulli number (Maddison et al. 2017). Arguments: temperature (Tensor), {probs (probability of
---1), logits (its log-odds, instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---local relaxed = torch.distributions.LogitRelaxedBernoulli(torch.tensor(0.5), torch.tensor{0.1, 0.9})
---assert(relaxed:rsample().shape == torch.Size{2})
---```
---@class distributions.LogitRelaxedBernoulli: distributions.Distribution
---@overload fun(temperature: torch.Tensor, probs?: number|torch.Tensor, ...: any): distributions.LogitRelaxedBernoulli
---@field temperature torch.Tensor
---@field probs torch.Tensor
---@field logits torch.Tensor
---@field param_shape torch.Size the shape of probs and logits
local LogitRelaxedBernoulli = Distribution:extend('LogitRelaxedBernoulli')
LogitRelaxedBernoulli.arg_constraints = ordered.new{{'probs', constraints.unit_interval}, {'logits', constraints.real}}
LogitRelaxedBernoulli.support = constraints.real
LogitRelaxedBernoulli._expands = {'probs', 'logits'}
probs_or_logits.define(LogitRelaxedBernoulli, true)

local signature = args.signature('LogitRelaxedBernoulli', {'temperature', {'probs'}, {'logits'}, {'validate_args'}})

function LogitRelaxedBernoulli:init(...)
  local bound = signature:bind(...)
  local given = probs_or_logits.given(bound)
  self.temperature, self[given] = utils.broadcast_all(bound.temperature), utils.broadcast_all(bound[given])
  self:_start(self[given].shape, nil, bound.validate_args)
end

function LogitRelaxedBernoulli:_expand_into(new, batch_shape)
  Distribution._expand_into(self, new, batch_shape)
  new.temperature = self.temperature
end

function LogitRelaxedBernoulli:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local probs = utils.clamp_probs(self.probs:expand(shape))
  local uniforms = utils.clamp_probs(torch.rand(shape, utils.like(probs)))
  return (uniforms:log() - (-uniforms):log1p() + probs:log() - (-probs):log1p()) / self.temperature
end

function LogitRelaxedBernoulli:_log_prob(value)
  local logits
  logits, value = utils.broadcast_all(self.logits, value)
  local difference = logits - value:mul(self.temperature)
  return self.temperature:log() + difference - 2 * difference:exp():log1p()
end

return LogitRelaxedBernoulli
