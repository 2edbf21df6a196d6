-- torch/distributions/chi2.lua: Chi2: a sum of squares of normal numbers.

local Gamma = require 'torch.distributions.gamma'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'

---The sum of the squares of df standard normal numbers: Gamma(df / 2, 1 / 2). Arguments: df (degrees of freedom),
---{validate_args}.
---
---```lua
---local torch = require 'torch'
---local chi2 = torch.distributions.Chi2(torch.tensor{3})
---assert(chi2.mean:item() == 3 and chi2.variance:item() == 6)
---```
---@class distributions.Chi2: distributions.Gamma
---@overload fun(df: number|torch.Tensor, validate_args?: boolean): distributions.Chi2
---@field df torch.Tensor degrees of freedom
local Chi2 = Gamma:extend('Chi2')
Chi2.arg_constraints = ordered.new{{'df', constraints.positive}}
Chi2._expands = Gamma._expands

local signature = args.signature('Chi2', {'df', {'validate_args'}})

function Chi2:init(...)
  local bound = signature:bind(...)
  Gamma.init(self, 0.5 * bound.df, 0.5, {validate_args = bound.validate_args})
end

Chi2.df = properties.property(function(self) return self.concentration * 2 end)

return Chi2
