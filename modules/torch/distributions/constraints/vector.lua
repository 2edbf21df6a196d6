-- torch/distributions/constraints/vector.lua: constraints of vectors: the simplex, one-hot vectors, counts.

local Constraint = require('torch.distributions.constraints.constraint').Constraint

local function vectors(name, is_discrete)
  local new = Constraint:extend(name)
  new.is_discrete, new.event_dim = is_discrete, 1
  return new
end

local OneHot = vectors('OneHot', true)

function OneHot:check(value)
  return value:eq(0):logical_or(value:eq(1)):all(-1):logical_and(value:sum(-1):eq(1))
end

-- Numbers of at least 0 whose sum is 1.
local Simplex = vectors('Simplex', false)

function Simplex:check(value) return value:ge(0):all(-1):logical_and((value:sum(-1) - 1):abs():lt(1e-6)) end

---Vectors of numbers of at least 0 with a sum of at most upper_bound. Arguments: upper_bound.
---@class distributions.constraints.multinomial: distributions.constraints.Constraint
---@overload fun(upper_bound: number|torch.Tensor): distributions.constraints.multinomial
local multinomial = vectors('Multinomial', true)

function multinomial:init(upper_bound) self.upper_bound = upper_bound end

function multinomial:check(value) return value:ge(0):all(-1):logical_and(value:sum(-1):le(self.upper_bound)) end

return {OneHot = OneHot, Simplex = Simplex, multinomial = multinomial}
