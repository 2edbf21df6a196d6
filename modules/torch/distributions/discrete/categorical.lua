-- torch/distributions/discrete/categorical.lua: Categorical: one of some classes.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local checks = require 'torch.functions.checks'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---A class from 0 to K - 1, int64. Arguments: {probs (Tensor (…, K) of weights of at least 0, normalized here), logits (Tensor
---(…, K) of unnormalized log-probabilities, instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(0)
---local policy = torch.distributions.Categorical {logits = torch.zeros(2, 4, {requires_grad = true})}
---local action = policy:sample()
---assert(action.dtype == torch.int64 and action.shape == torch.Size{2})
---policy:log_prob(action):sum():backward()
---```
---@class distributions.Categorical: distributions.Distribution
---@overload fun(probs?: torch.Tensor, logits?: torch.Tensor, validate_args?: boolean): distributions.Categorical
---@field probs torch.Tensor (…, K) probabilities
---@field logits torch.Tensor (…, K) their logarithms
---@field param_shape torch.Size the shape of probs and logits
local Categorical = Distribution:extend('Categorical')
Categorical.arg_constraints = ordered.new{{'probs', constraints.simplex}, {'logits', constraints.real_vector}}
Categorical.has_enumerate_support = true
probs_or_logits.define(Categorical, false)

local signature = args.signature('Categorical', {{'probs'}, {'logits'}, {'validate_args'}})

function Categorical:init(...)
  local bound = signature:bind(...)
  local given = probs_or_logits.given(bound)
  local param = checks.tensor('Categorical: ' .. given, bound[given])
  if param:dim() < 1 then
    errors.raise('argument', ('`%s` parameter must be at least one-dimensional.'):format(given))
  end
  if given == 'probs' then
    self.probs = param / param:sum(-1, true)
  else
    self.logits = param - param:logsumexp(-1, true)
  end
  self._num_events = param:size(-1)
  self:_start(sizes.slice(param.shape, 0, -1), nil, bound.validate_args)
end

function Categorical:_expand_into(new, batch_shape)
  for _, name in ipairs{'probs', 'logits'} do
    local value = rawget(self, name)
    if value ~= nil then new[name] = value:expand(batch_shape .. {self._num_events}) end
  end
  new._num_events = self._num_events
end

Categorical.support = constraints.dependent_property(function(self)
  return constraints.integer_interval(0, self._num_events - 1)
end, {is_discrete = true, event_dim = 0})

local undefined = properties.property(function(self)
  return torch.full(self:_extended_shape(), torch.nan, utils.like(self.probs))
end)
Categorical.mean, Categorical.variance = undefined, undefined

Categorical.mode = properties.property(function(self) return self.probs:argmax(-1) end)

function Categorical:_sample(sample_shape)
  local probs = self.probs:reshape(-1, self._num_events)
  local samples = torch.multinomial(probs, sample_shape:numel(), true).T
  return samples:reshape(self:_extended_shape(sample_shape))
end

function Categorical:_log_prob(value)
  local index, log_pmf = unpack(torch.broadcast_tensors{value:long():unsqueeze(-1), self.logits})
  return log_pmf:gather(-1, index:narrow(-1, 0, 1)):squeeze(-1)
end

function Categorical:_entropy()
  local logits = torch.clamp(self.logits, {min = torch.finfo(self.logits.dtype).min})
  return -(logits * self.probs):sum(-1)
end

function Categorical:_enumerate_support(expand)
  local values = torch.arange(self._num_events, {dtype = torch.int64, device = self._param.device})
  return self:_enumerated(values, expand)
end

return Categorical
