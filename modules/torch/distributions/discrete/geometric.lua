-- torch/distributions/discrete/geometric.lua: Geometric: failures before the first success.

local Distribution = require 'torch.distributions.distribution'
local F = require 'torch.nn.functional'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local probs_or_logits = require 'torch.distributions.shared.probs_or_logits'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The number of failures before the first success: 0, 1, … (x:geometric_(p) also counts the success). Arguments: {probs
---(probability of success, in (0, 1]), logits (its log-odds, instead of probs), validate_args}.
---
---```lua
---local torch = require 'torch'
---local geometric = torch.distributions.Geometric(torch.tensor{0.25})
---assert(geometric.mean:item() == 3)
---```
---@class distributions.Geometric: distributions.Distribution
---@overload fun(probs?: number|torch.Tensor, logits?: number|torch.Tensor, validate_args?: boolean): distributions.Geometric
---@field probs torch.Tensor
---@field logits torch.Tensor
local Geometric = Distribution:extend('Geometric')
Geometric.arg_constraints = ordered.new{{'probs', constraints.unit_interval}, {'logits', constraints.real}}
Geometric.support = constraints.nonnegative_integer
Geometric._expands = {'probs', 'logits'}
probs_or_logits.define(Geometric, true)

local signature = args.signature('Geometric', {{'probs'}, {'logits'}, {'validate_args'}})

function Geometric:init(...)
  local bound = signature:bind(...)
  local given = probs_or_logits.given(bound)
  self:_start_with({given}, bound)
  if not self._validate_args or given ~= 'probs' then return end
  local valid = self.probs:gt(0)
  if not valid:all():item() then
    errors.raise('argument', ('Expected parameter probs (Tensor of shape %s) of distribution %s to be positive but found '
      .. 'invalid values:\n%s'):format(sizes.text(self.probs.shape), tostring(self),
      tostring(self.probs:detach()[valid:logical_not()])))
  end
end

Geometric.mean = properties.property(function(self) return 1 / self.probs - 1 end)
Geometric.mode = properties.property(function(self) return torch.zeros_like(self.probs) end)
Geometric.variance = properties.property(function(self) return (1 / self.probs - 1) / self.probs end)

function Geometric:_sample(sample_shape)
  local u = torch.empty(self:_extended_shape(sample_shape), utils.like(self.probs))
  u:uniform_(torch.finfo(self.probs.dtype).tiny, 1)
  return (u:log() / (-self.probs):log1p()):floor()
end

function Geometric:_log_prob(value)
  local probs
  value, probs = utils.broadcast_all(value, self.probs)
  probs = probs:clone{memory_format = torch.contiguous_format}
  probs[probs:eq(1):logical_and(value:eq(0))] = 0
  return value * (-probs):log1p() + self.probs:log()
end

function Geometric:_entropy()
  return F.binary_cross_entropy_with_logits(self.logits, self.probs, {reduction = 'none'}) / self.probs
end

return Geometric
