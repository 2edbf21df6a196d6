-- torch/distributions/continuous_bernoulli.lua: ContinuousBernoulli: numbers in [0, 1] with a density like Bernoulli's.

local ExponentialFamily = require 'torch.distributions.exponential_family'
local F = require 'torch.nn.functional'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Numbers in [0, 1] with a density proportional to probs ^ x · (1 - probs) ^ (1 - x): Loaiza-Ganem and Cunningham 2019, for
---the pixels of an autoencoder. Arguments: {probs (in (0, 1)), logits (their log-odds, instead of probs),
---lims = {0.499, 0.501} (between them the density is computed by a Taylor series), validate_args}.
---
---```lua
---local torch = require 'torch'
---local pixel = torch.distributions.ContinuousBernoulli(torch.tensor{0.5})
---assert(math.abs(pixel.mean:item() - 0.5) < 1e-6 and pixel:rsample{3}.shape == torch.Size{3, 1})
---```
---@class distributions.ContinuousBernoulli: distributions.ExponentialFamily
---@overload fun(probs?: number|torch.Tensor, logits?: number|torch.Tensor, ...: any): distributions.ContinuousBernoulli
---@field probs torch.Tensor
---@field logits torch.Tensor
---@field param_shape torch.Size the shape of probs and logits
local ContinuousBernoulli = ExponentialFamily:extend('ContinuousBernoulli')
ContinuousBernoulli.arg_constraints = ordered.new{{'probs', constraints.unit_interval}, {'logits', constraints.real}}
ContinuousBernoulli.support = constraints.unit_interval
ContinuousBernoulli.has_rsample = true
ContinuousBernoulli._mean_carrier_measure = 0
ContinuousBernoulli._expands = {'probs', 'logits'}
probs_or_logits.define(ContinuousBernoulli, true)

ContinuousBernoulli.probs = properties.lazy_property(function(self)
  return utils.clamp_probs(utils.logits_to_probs(self.logits, true))
end)

local signature = args.signature('ContinuousBernoulli', {{'probs'}, {'logits'}, {'lims', {0.499, 0.501}},
  {'validate_args'}})

function ContinuousBernoulli:init(...)
  local bound = signature:bind(...)
  local given = probs_or_logits.given(bound)
  local param = utils.broadcast_all(bound[given])
  if given == 'probs' then
    -- Checked before they are clamped.
    if bound.validate_args ~= nil and not self.arg_constraints.probs:check(param):all():item() then
      errors.raise('argument', 'The parameter probs has invalid values')
    end
    param = utils.clamp_probs(param)
  end
  self[given], self._lims = param, bound.lims
  self:_start(param.shape, nil, bound.validate_args)
end

function ContinuousBernoulli:_expand_into(new, batch_shape)
  ExponentialFamily._expand_into(self, new, batch_shape)
  new._lims = self._lims
end

local function is_outside(self, value, shift)
  return value:le(self._lims[1] - shift):logical_or(value:gt(self._lims[2] - shift))
end

-- Returns where the formulas are stable, and probs with a stable value in the other places.
local function stable(self)
  local outside = is_outside(self, self.probs, 0)
  return outside, torch.where(outside, self.probs, self._lims[1] * torch.ones_like(self.probs))
end

local function log_odds(probs) return torch.log1p(-probs) - torch.log(probs) end

function ContinuousBernoulli:_cont_bern_log_norm()
  local outside, cut = stable(self)
  local is_low = cut:le(0.5)
  local below = torch.where(is_low, cut, torch.zeros_like(cut))
  local above = torch.where(cut:ge(0.5), cut, torch.ones_like(cut))
  local log_norm = torch.log(torch.abs(log_odds(cut)))
    - torch.where(is_low, torch.log1p(-2 * below), torch.log(2 * above - 1))
  local x = torch.pow(self.probs - 0.5, 2)
  local taylor = math.log(2) + (4 / 3 + 104 / 45 * x) * x
  return torch.where(outside, log_norm, taylor)
end

ContinuousBernoulli.mean = properties.property(function(self)
  local outside, cut = stable(self)
  local mean = cut / (2 * cut - 1) + 1 / log_odds(cut)
  local x = self.probs - 0.5
  local taylor = 0.5 + (1 / 3 + 16 / 45 * torch.pow(x, 2)) * x
  return torch.where(outside, mean, taylor)
end)

ContinuousBernoulli.variance = properties.property(function(self)
  local outside, cut = stable(self)
  local variance = cut * (cut - 1) / torch.pow(1 - 2 * cut, 2) + 1 / torch.pow(log_odds(cut), 2)
  local x = torch.pow(self.probs - 0.5, 2)
  local taylor = 1 / 12 - (1 / 15 - 128 / 945 * x) * x
  return torch.where(outside, variance, taylor)
end)

function ContinuousBernoulli:_rsample(sample_shape)
  return self:icdf(torch.rand(self:_extended_shape(sample_shape), utils.like(self.probs)))
end

function ContinuousBernoulli:_log_prob(value)
  local logits
  logits, value = utils.broadcast_all(self.logits, value)
  return -F.binary_cross_entropy_with_logits(logits, value, {reduction = 'none'}) + self:_cont_bern_log_norm()
end

function ContinuousBernoulli:_cdf(value)
  local outside, cut = stable(self)
  local cdf = (torch.pow(cut, value) * torch.pow(1 - cut, 1 - value) + cut - 1) / (2 * cut - 1)
  local unbounded = torch.where(outside, cdf, value)
  return torch.where(value:le(0), torch.zeros_like(value),
    torch.where(value:ge(1), torch.ones_like(value), unbounded))
end

function ContinuousBernoulli:_icdf(value)
  local outside, cut = stable(self)
  local icdf = (torch.log1p(-cut + value * (2 * cut - 1)) - torch.log1p(-cut)) / (torch.log(cut) - torch.log1p(-cut))
  return torch.where(outside, icdf, value)
end

function ContinuousBernoulli:_entropy()
  local log_probs0, log_probs1 = torch.log1p(-self.probs), torch.log(self.probs)
  return self.mean * (log_probs0 - log_probs1) - self:_cont_bern_log_norm() - log_probs0
end

ContinuousBernoulli._natural_params = properties.property(function(self) return {self.logits} end)

function ContinuousBernoulli:_log_normalizer(x)
  local outside = is_outside(self, x, 0.5)
  local cut = torch.where(outside, x, (self._lims[1] - 0.5) * torch.ones_like(x))
  local log_norm = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
  local taylor = 0.5 * x + torch.pow(x, 2) / 24 - torch.pow(x, 4) / 2880
  return torch.where(outside, log_norm, taylor)
end

return ContinuousBernoulli
