-- torch/distributions/gumbel.lua: Gumbel: the largest of many numbers.

local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local Uniform = require 'torch.distributions.uniform'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local transforms = require 'torch.distributions.transforms'
local utils = require 'torch.distributions.utils'

---The largest of many numbers. Arguments: loc, scale, {validate_args}.
---
---```lua
---local torch = require 'torch'
---local gumbel = torch.distributions.Gumbel(torch.tensor{1}, torch.tensor{2})
---assert(gumbel.mode:item() == 1 and gumbel:rsample().shape == torch.Size{1})
---```
---@class distributions.Gumbel: distributions.TransformedDistribution
---@overload fun(loc: number|torch.Tensor, scale: number|torch.Tensor, validate_args?: boolean): distributions.Gumbel
---@field loc torch.Tensor
---@field scale torch.Tensor
local Gumbel = TransformedDistribution:extend('Gumbel')
Gumbel.arg_constraints = ordered.new{{'loc', constraints.real}, {'scale', constraints.positive}}
Gumbel.support = constraints.real
Gumbel._expands = {'loc', 'scale'}

local signature = args.signature('Gumbel', {'loc', 'scale', {'validate_args'}})

function Gumbel:init(...)
  local bound = signature:bind(...)
  self.loc, self.scale = utils.broadcast_all(bound.loc, bound.scale)
  local limits = torch.finfo(self.loc.dtype)
  local base = Uniform(torch.full_like(self.loc, limits.tiny), torch.full_like(self.loc, 1 - limits.eps),
    {validate_args = bound.validate_args})
  -- loc - scale · log(-log(u))
  self:_transform(base, {
    transforms.ExpTransform().inv,
    transforms.AffineTransform(0, -torch.ones_like(self.scale)),
    transforms.ExpTransform().inv,
    transforms.AffineTransform(self.loc, -self.scale),
  }, bound.validate_args)
end

Gumbel.mean = properties.property(function(self) return self.loc + self.scale * utils.euler_constant end)
Gumbel.mode = properties.property(function(self) return self.loc end)
Gumbel.stddev = properties.property(function(self) return math.pi / math.sqrt(6) * self.scale end)
Gumbel.variance = properties.property(function(self) return self.stddev:pow(2) end)

-- More exact than the general formula for transforms.
function Gumbel:_log_prob(value)
  local y = (self.loc - value) / self.scale
  return (y - y:exp()) - self.scale:log()
end

function Gumbel:_entropy() return self.scale:log() + (1 + utils.euler_constant) end

return Gumbel
