-- torch/distributions/constraints/matrix.lua: constraints of square matrices.

local Constraint = require('torch.distributions.constraints.constraint').Constraint
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'

local Matrices = Constraint:extend('Matrices')
Matrices.event_dim = 2

local LowerTriangular = Matrices:extend('LowerTriangular')

function LowerTriangular:check(value)
  return value:tril():eq(value):reshape(sizes.slice(value.shape, 0, -2) .. {-1}):all(-1)
end

-- Lower triangular with a positive diagonal.
local LowerCholesky = LowerTriangular:extend('LowerCholesky')

function LowerCholesky:check(value)
  local positive = value:diagonal{dim1 = -2, dim2 = -1}:gt(0):all(-1)
  return LowerTriangular.check(self, value):logical_and(positive)
end

-- The Cholesky factor of a correlation matrix: each row has the length 1.
local CorrCholesky = LowerCholesky:extend('CorrCholesky')

function CorrCholesky:check(value)
  local tolerance = torch.finfo(value.dtype).eps * value:size(-1) * 10
  local norms = torch.linalg.norm(value:detach(), {dim = -1})
  local unit = (norms - 1):abs():le(tolerance):all(-1)
  return LowerCholesky.check(self, value):logical_and(unit)
end

local Square = Matrices:extend('Square')

function Square:check(value)
  return torch.full(sizes.slice(value.shape, 0, -2), value:size(-2) == value:size(-1),
    {dtype = torch.bool, device = value.device})
end

local Symmetric = Square:extend('Symmetric')

function Symmetric:check(value)
  local square = Square.check(self, value)
  if not square:all():item() then return square end
  return torch.isclose(value, value.mT, {atol = 1e-6}):all(-2):all(-1)
end

local PositiveSemidefinite = Symmetric:extend('PositiveSemidefinite')

function PositiveSemidefinite:check(value)
  local symmetric = Symmetric.check(self, value)
  if not symmetric:all():item() then return symmetric end
  return torch.linalg.eigvalsh(value):ge(0):all(-1)
end

local PositiveDefinite = Symmetric:extend('PositiveDefinite')

function PositiveDefinite:check(value)
  local symmetric = Symmetric.check(self, value)
  if not symmetric:all():item() then return symmetric end
  local _, info = torch.linalg.cholesky_ex(value)
  return info:eq(0)
end

return {LowerTriangular = LowerTriangular, LowerCholesky = LowerCholesky, CorrCholesky = CorrCholesky, Square = Square,
        Symmetric = Symmetric, PositiveSemidefinite = PositiveSemidefinite, PositiveDefinite = PositiveDefinite}
