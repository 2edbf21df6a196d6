-- torch/distributions/fisher_snedecor.lua: FisherSnedecor: the F distribution.

local Distribution = require 'torch.distributions.distribution'
local Gamma = require 'torch.distributions.gamma'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---The ratio of two variances: the F distribution. Arguments: df1, df2 (degrees of freedom), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local f = torch.distributions.FisherSnedecor(torch.tensor{1}, torch.tensor{4})
---assert(f.mean:item() == 2)
---```
---@class distributions.FisherSnedecor: distributions.Distribution
---@overload fun(df1: number|torch.Tensor, df2: number|torch.Tensor, validate_args?: boolean): distributions.FisherSnedecor
---@field df1 torch.Tensor
---@field df2 torch.Tensor
local FisherSnedecor = Distribution:extend('FisherSnedecor')
FisherSnedecor.arg_constraints = ordered.new{{'df1', constraints.positive}, {'df2', constraints.positive}}
FisherSnedecor.support = constraints.positive
FisherSnedecor.has_rsample = true
-- These fields are expanded with the distribution.
FisherSnedecor._expands = {'df1', 'df2', '_gamma1', '_gamma2'}

local signature = args.signature('FisherSnedecor', {'df1', 'df2', {'validate_args'}})

function FisherSnedecor:init(...)
  local bound = signature:bind(...)
  self.df1, self.df2 = utils.broadcast_all(bound.df1, bound.df2)
  self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
  self:_start(self.df1.shape, nil, bound.validate_args)
end

-- Returns a copy with NaN in the places at or below the limit.
local function above(df, limit)
  df = df:clone()
  df[df:le(limit)] = torch.nan
  return df
end

FisherSnedecor.mean = properties.property(function(self)
  local df2 = above(self.df2, 2)
  return df2 / (df2 - 2)
end)

FisherSnedecor.mode = properties.property(function(self)
  local mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
  mode[self.df1:le(2)] = torch.nan
  return mode
end)

FisherSnedecor.variance = properties.property(function(self)
  local df2 = above(self.df2, 4)
  return 2 * df2:pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2):pow(2) * (df2 - 4))
end)

function FisherSnedecor:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local x1 = self._gamma1:rsample(sample_shape):view(shape)
  local x2 = self._gamma2:rsample(sample_shape):view(shape)
  local tiny = torch.finfo(x2.dtype).tiny
  return (x1 / x2:clamp_{min = tiny}):clamp_{min = tiny}
end

function FisherSnedecor:_log_prob(value)
  local ct1, ct2, ct3 = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
  local t1 = (ct1 + ct2):lgamma() - ct1:lgamma() - ct2:lgamma()
  local t2 = ct1 * ct3:log() + (ct1 - 1) * torch.log(value)
  local t3 = (ct1 + ct2) * torch.log1p(ct3 * value)
  return t1 + t2 - t3
end

return FisherSnedecor
