-- torch/distributions/discrete/negative_binomial.lua: NegativeBinomial: successes before some number of failures.

local Distribution = require 'torch.distributions.distribution'
local F = require 'torch.nn.functional'
local Gamma = require 'torch.distributions.gamma'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'

---The number of successes before total_count failures. Arguments: total_count (at least 0, not only integers), {probs
---(probability of success, in [0, 1)), logits (its log-odds, instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---local negative = torch.distributions.NegativeBinomial(3, torch.tensor{0.5})
---assert(math.abs(negative.mean:item() - 3) < 1e-5)
---```
---@class distributions.NegativeBinomial: distributions.Distribution
---@overload fun(total_count: number|torch.Tensor, probs?: torch.Tensor, ...: any): distributions.NegativeBinomial
---@field total_count torch.Tensor
---@field probs torch.Tensor
---@field logits torch.Tensor
---@field param_shape torch.Size the shape of probs and logits
local NegativeBinomial = Distribution:extend('NegativeBinomial')
NegativeBinomial.arg_constraints = ordered.new{
  {'total_count', constraints.greater_than_eq(0)}, {'probs', constraints.half_open_interval(0, 1)},
  {'logits', constraints.real}}
NegativeBinomial.support = constraints.nonnegative_integer
NegativeBinomial._expands = {'total_count', 'probs', 'logits'}
probs_or_logits.define(NegativeBinomial, true)

local signature = args.signature('NegativeBinomial', {'total_count', {'probs'}, {'logits'}, {'validate_args'}})

function NegativeBinomial:init(...) probs_or_logits.start_with_count(self, signature:bind(...)) end

NegativeBinomial.mean = properties.property(function(self) return self.total_count * torch.exp(self.logits) end)
NegativeBinomial.mode = properties.property(function(self)
  return ((self.total_count - 1) * self.logits:exp()):floor():clamp{min = 0}
end)
NegativeBinomial.variance = properties.property(function(self) return self.mean / torch.sigmoid(-self.logits) end)

-- A count of 0 is not a valid concentration.
NegativeBinomial._gamma = properties.lazy_property(function(self)
  return Gamma(self.total_count, torch.exp(-self.logits), {validate_args = false})
end)

function NegativeBinomial:_sample(sample_shape) return torch.poisson(self._gamma:sample(sample_shape)) end

function NegativeBinomial:_log_prob(value)
  local unnormalized = self.total_count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
  local normalization = -torch.lgamma(self.total_count + value) + torch.lgamma(1 + value) + torch.lgamma(self.total_count)
  -- With total_count = 0, the value 0 is certain, and lgamma(0) is infinite.
  return unnormalized - normalization:masked_fill((self.total_count + value):eq(0), 0)
end

return NegativeBinomial
