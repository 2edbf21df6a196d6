-- torch/distributions/relaxed/relaxed_one_hot_categorical.lua: RelaxedOneHotCategorical: vectors near one-hot ones, with
-- gradients.

local ExpRelaxedCategorical = require 'torch.distributions.relaxed.exp_relaxed_categorical'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local transforms = require 'torch.distributions.transforms'

---Vectors of the simplex, closer to one-hot vectors at lower temperatures: OneHotCategorical with gradients for its
---samples. Arguments: temperature (Tensor), {probs (Tensor (…, K) of weights), logits (unnormalized log-probabilities,
---instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---local relaxed = torch.distributions.RelaxedOneHotCategorical(torch.tensor{2.2}, torch.tensor{0.1, 0.2, 0.3, 0.4})
---assert(math.abs(relaxed:rsample():sum():item() - 1) < 1e-5)
---```
---@class distributions.RelaxedOneHotCategorical: distributions.TransformedDistribution
---@overload fun(temperature: torch.Tensor, probs?: torch.Tensor, ...: any): distributions.RelaxedOneHotCategorical
---@field temperature torch.Tensor
---@field probs torch.Tensor (…, K)
---@field logits torch.Tensor (…, K)
local RelaxedOneHotCategorical = TransformedDistribution:extend('RelaxedOneHotCategorical')
RelaxedOneHotCategorical.arg_constraints = ordered.new{{'probs', constraints.simplex},
                                                       {'logits', constraints.real_vector}}
RelaxedOneHotCategorical.support = constraints.simplex
RelaxedOneHotCategorical.has_rsample = true
RelaxedOneHotCategorical._expands = {}

local signature = args.signature('RelaxedOneHotCategorical', {'temperature', {'probs'}, {'logits'}, {'validate_args'}})

function RelaxedOneHotCategorical:init(...)
  local bound = signature:bind(...)
  local base = ExpRelaxedCategorical(bound)
  self:_transform(base, {transforms.ExpTransform()}, bound.validate_args)
end

properties.delegate(RelaxedOneHotCategorical, 'base_dist', {'temperature', 'probs', 'logits'})

return RelaxedOneHotCategorical
