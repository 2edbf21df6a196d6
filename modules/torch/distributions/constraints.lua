-- torch/distributions/constraints.lua: torch.distributions.constraints: where parameters and samples are valid.

local basic = require 'torch.distributions.constraints.constraint'
local interval = require 'torch.distributions.constraints.interval'
local matrix = require 'torch.distributions.constraints.matrix'
local sequence = require 'torch.distributions.constraints.sequence'
local vector = require 'torch.distributions.constraints.vector'

local real = interval.Real()

return require 'base.namespace'('torch.distributions.constraints', nil, {
  Constraint = basic.Constraint, MixtureSameFamilyConstraint = basic.MixtureSameFamilyConstraint,
  dependent = basic.Dependent(), dependent_property = basic.dependent_property, is_dependent = basic.is_dependent,
  independent = basic.independent,
  real = real, real_vector = basic.independent(real, 1), boolean = interval.Boolean(),
  greater_than = interval.greater_than, greater_than_eq = interval.greater_than_eq, less_than = interval.less_than,
  interval = interval.interval, half_open_interval = interval.half_open_interval,
  integer_interval = interval.integer_interval,
  positive = interval.greater_than(0), nonnegative = interval.greater_than_eq(0), unit_interval = interval.interval(0, 1),
  nonnegative_integer = interval.IntegerGreaterThan(0), positive_integer = interval.IntegerGreaterThan(1),
  one_hot = vector.OneHot(), simplex = vector.Simplex(), multinomial = vector.multinomial,
  lower_triangular = matrix.LowerTriangular(), lower_cholesky = matrix.LowerCholesky(),
  corr_cholesky = matrix.CorrCholesky(), square = matrix.Square(), symmetric = matrix.Symmetric(),
  positive_semidefinite = matrix.PositiveSemidefinite(), positive_definite = matrix.PositiveDefinite(),
  cat = sequence.cat, stack = sequence.stack,
})
