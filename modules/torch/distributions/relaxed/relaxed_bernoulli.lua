-- torch/distributions/relaxed/relaxed_bernoulli.lua: RelaxedBernoulli: numbers near 0 or near 1, with gradients.

local LogitRelaxedBernoulli = require 'torch.distributions.relaxed.logit_relaxed_bernoulli'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local transforms = require 'torch.distributions.transforms'

---Numbers in (0, 1), closer to 0 and 1 at lower temperatures: Bernoulli with gradients for its samples. Arguments:
---temperature (Tensor), {probs (probability of 1), logits (its log-odds, instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---local relaxed = torch.distributions.RelaxedBernoulli(torch.tensor{2.2}, torch.tensor{0.1, 0.2, 0.3, 0.99})
---assert(relaxed:rsample().shape == torch.Size{4})
---```
---@class distributions.RelaxedBernoulli: distributions.TransformedDistribution
---@overload fun(temperature: torch.Tensor, probs?: number|torch.Tensor, ...: any): distributions.RelaxedBernoulli
---@field temperature torch.Tensor
---@field probs torch.Tensor
---@field logits torch.Tensor
local RelaxedBernoulli = TransformedDistribution:extend('RelaxedBernoulli')
RelaxedBernoulli.arg_constraints = ordered.new{{'probs', constraints.unit_interval}, {'logits', constraints.real}}
RelaxedBernoulli.support = constraints.unit_interval
RelaxedBernoulli.has_rsample = true
RelaxedBernoulli._expands = {}

local signature = args.signature('RelaxedBernoulli', {'temperature', {'probs'}, {'logits'}, {'validate_args'}})

function RelaxedBernoulli:init(...)
  local bound = signature:bind(...)
  local base = LogitRelaxedBernoulli(bound.temperature, bound.probs, bound.logits)
  self:_transform(base, {transforms.SigmoidTransform()}, bound.validate_args)
end

properties.delegate(RelaxedBernoulli, 'base_dist', {'temperature', 'probs', 'logits'})

return RelaxedBernoulli
