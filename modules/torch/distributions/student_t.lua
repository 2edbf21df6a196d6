-- torch/distributions/student_t.lua: StudentT.

local Chi2 = require 'torch.distributions.chi2'
local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Student's t distribution. Arguments: df (degrees of freedom), loc = 0, scale = 1, {validate_args}.
---
---```lua
---local torch = require 'torch'
---local t = torch.distributions.StudentT(torch.tensor{4})
---assert(t.mean:item() == 0 and t.variance:item() == 2)
---```
---@class distributions.StudentT: distributions.Distribution
---@overload fun(df: number|torch.Tensor, loc?: number|torch.Tensor, ...: any): distributions.StudentT
---@field df torch.Tensor
---@field loc torch.Tensor
---@field scale torch.Tensor
local StudentT = Distribution:extend('StudentT')
StudentT.arg_constraints = ordered.new{{'df', constraints.positive}, {'loc', constraints.real},
                                       {'scale', constraints.positive}}
StudentT.support = constraints.real
StudentT.has_rsample = true
StudentT._expands = {'df', 'loc', 'scale', '_chi2'}

local signature = args.signature('StudentT', {'df', {'loc', 0}, {'scale', 1}, {'validate_args'}})

function StudentT:init(...)
  local bound = signature:bind(...)
  self.df, self.loc, self.scale = utils.broadcast_all(bound.df, bound.loc, bound.scale)
  self._chi2 = Chi2(self.df)
  self:_start(self.df.shape, nil, bound.validate_args)
end

StudentT.mean = properties.property(function(self)
  local mean = self.loc:clone{memory_format = torch.contiguous_format}
  mean[self.df:le(1)] = torch.nan
  return mean
end)

StudentT.mode = properties.property(function(self) return self.loc end)

StudentT.variance = properties.property(function(self)
  local variance = self.df:clone{memory_format = torch.contiguous_format}
  local finite = self.df:gt(2)
  local df = self.df[finite]
  variance[finite] = self.scale[finite]:pow(2) * df / (df - 2)
  variance[self.df:le(2):logical_and(self.df:gt(1))] = torch.inf
  variance[self.df:le(1)] = torch.nan
  return variance
end)

function StudentT:_rsample(sample_shape)
  local x = utils.standard_normal(self:_extended_shape(sample_shape), self.df)
  local z = self._chi2:rsample(sample_shape)
  return self.loc + self.scale * (x * torch.rsqrt(z / self.df))
end

function StudentT:_log_prob(value)
  local y = (value - self.loc) / self.scale
  local z = self.scale:log() + 0.5 * self.df:log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * self.df)
    - torch.lgamma(0.5 * (self.df + 1))
  return -0.5 * (self.df + 1) * torch.log1p(y ^ 2 / self.df) - z
end

function StudentT:_entropy()
  -- lgamma(0.5) is the logarithm of the square root of pi.
  local lbeta = torch.lgamma(0.5 * self.df) + 0.5 * math.log(math.pi) - torch.lgamma(0.5 * (self.df + 1))
  return self.scale:log()
    + 0.5 * (self.df + 1) * (torch.digamma(0.5 * (self.df + 1)) - torch.digamma(0.5 * self.df))
    + 0.5 * self.df:log() + lbeta
end

return StudentT
