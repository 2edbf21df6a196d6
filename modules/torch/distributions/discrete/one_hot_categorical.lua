-- torch/distributions/discrete/one_hot_categorical.lua: OneHotCategorical: one of some classes, as a one-hot vector.

local Categorical = require 'torch.distributions.discrete.categorical'
local Distribution = require 'torch.distributions.distribution'
local F = require 'torch.nn.functional'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---A class as a one-hot vector of K numbers. Arguments: {probs (Tensor (…, K) of weights of at least 0, normalized here),
---logits (unnormalized log-probabilities, instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---local one_hot = torch.distributions.OneHotCategorical(torch.ones(4))
---assert(one_hot:sample():sum():item() == 1 and one_hot.event_shape == torch.Size{4})
---```
---@class distributions.OneHotCategorical: distributions.Distribution
---@overload fun(probs?: torch.Tensor, logits?: torch.Tensor, validate_args?: boolean): distributions.OneHotCategorical
---@field probs torch.Tensor (…, K)
---@field logits torch.Tensor (…, K)
---@field param_shape torch.Size the shape of probs and logits
local OneHotCategorical = Distribution:extend('OneHotCategorical')
OneHotCategorical.arg_constraints = ordered.new{{'probs', constraints.simplex}, {'logits', constraints.real_vector}}
OneHotCategorical.support = constraints.one_hot
OneHotCategorical.has_enumerate_support = true
probs_or_logits.delegate(OneHotCategorical)

local signature = args.signature('OneHotCategorical', {{'probs'}, {'logits'}, {'validate_args'}})

function OneHotCategorical:init(...)
  local bound = signature:bind(...)
  self._categorical = Categorical{probs = bound.probs, logits = bound.logits}
  self:_start(self._categorical.batch_shape, sizes.slice(self.param_shape, -1), bound.validate_args)
end

function OneHotCategorical:_expand_into(new, batch_shape) new._categorical = self._categorical:expand(batch_shape) end

OneHotCategorical.mean = properties.property(function(self) return self.probs end)

local function one_hot(self, index) return F.one_hot(index, {num_classes = self._categorical._num_events}):to(self.probs) end

OneHotCategorical.mode = properties.property(function(self) return one_hot(self, self.probs:argmax(-1)) end)
OneHotCategorical.variance = properties.property(function(self) return self.probs * (1 - self.probs) end)

function OneHotCategorical:_sample(sample_shape) return one_hot(self, self._categorical:sample(sample_shape)) end

function OneHotCategorical:_log_prob(value) return self._categorical:log_prob(value:argmax(-1)) end

function OneHotCategorical:_entropy() return self._categorical:entropy() end

function OneHotCategorical:_enumerate_support(expand)
  local n, dims = self.event_shape[1], #self.batch_shape
  local values = torch.eye(n, utils.like(self._param)):view({n, unpack(sizes.repeated(1, dims))} .. torch.Size{n})
  return expand and values:expand({n} .. self.batch_shape .. {n}) or values
end

return OneHotCategorical
