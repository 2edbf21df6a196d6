-- torch/distributions/transforms/cholesky.lua: from real matrices to Cholesky factors and positive-definite ones.

local Transform = require 'torch.distributions.transforms.transform'
local class = require 'base.class'
local constraints = require 'torch.distributions.constraints'
local torch = require 'torch'

---Maps square matrices to lower triangular ones with a positive diagonal; not bijective. Arguments: cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local factor = torch.distributions.transforms.LowerCholeskyTransform()(torch.zeros(2, 2))
---assert(torch.equal(factor, torch.eye(2)))
---```
---@class distributions.transforms.LowerCholeskyTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.LowerCholeskyTransform
local LowerCholeskyTransform = Transform:extend('LowerCholeskyTransform')
LowerCholeskyTransform.domain = constraints.independent(constraints.real, 2)
LowerCholeskyTransform.codomain = constraints.lower_cholesky

function LowerCholeskyTransform:_is_equal(other) return class.is(other, LowerCholeskyTransform) end

local function with_diagonal(x, name)
  local diagonal = x:diagonal{dim1 = -2, dim2 = -1}
  return x:tril(-1) + diagonal[name](diagonal):diag_embed()
end

function LowerCholeskyTransform:_call(x) return with_diagonal(x, 'exp') end

function LowerCholeskyTransform:_inverse(y) return with_diagonal(y, 'log') end

---Maps square matrices to positive-definite ones; not bijective. Arguments: cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local matrix = torch.distributions.transforms.PositiveDefiniteTransform()(torch.zeros(2, 2))
---assert(torch.equal(matrix, torch.eye(2)))
---```
---@class distributions.transforms.PositiveDefiniteTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.PositiveDefiniteTransform
local PositiveDefiniteTransform = Transform:extend('PositiveDefiniteTransform')
PositiveDefiniteTransform.domain = LowerCholeskyTransform.domain
PositiveDefiniteTransform.codomain = constraints.positive_definite

function PositiveDefiniteTransform:_is_equal(other) return class.is(other, PositiveDefiniteTransform) end

function PositiveDefiniteTransform:_call(x)
  local factor = with_diagonal(x, 'exp')
  return factor:matmul(factor.mT)
end

function PositiveDefiniteTransform:_inverse(y) return with_diagonal(torch.linalg.cholesky(y), 'log') end

return {LowerCholeskyTransform = LowerCholeskyTransform, PositiveDefiniteTransform = PositiveDefiniteTransform}
