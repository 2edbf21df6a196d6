-- torch/distributions/kl/normals.lua: divergences of normal distributions of one family or of several dimensions.

local distributions = require 'torch.distributions'
local errors = require 'base.errors'
local matrices = require 'torch.distributions.shared.matrices'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'

local function normal(p, q)
  local var_ratio = (p.scale / q.scale):pow(2)
  return 0.5 * (var_ratio + ((p.loc - q.loc) / q.scale):pow(2) - 1 - var_ratio:log())
end

local function check_event_shapes(p, q)
  if p.event_shape ~= q.event_shape then
    errors.raise('argument', 'KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot '
      .. 'be computed')
  end
end

-- Returns the trace of X Xᵀ.
local function trace_xxt(x) return x:reshape(sizes.slice(x.shape, 0, -2) .. {-1}):pow(2):sum(-1) end

local function solve(tril, x) return torch.linalg.solve_triangular(tril, x, {upper = false}) end

-- Returns the log-determinant of a covariance.
local function log_det(d)
  if d._factor then return matrices.lowrank_logdet(d._diag, d._capacitance_tril) end
  return 2 * matrices.half_log_det(d._tril)
end

-- Returns the Mahalanobis distance of the means by the covariance of q.
local function distance(p, q)
  local difference = q.loc - p.loc
  if q._factor then return matrices.lowrank_mahalanobis(q._factor, q._diag, difference, q._capacitance_tril) end
  return matrices.mahalanobis(q._tril, difference)
end

-- Returns trace(cov_q⁻¹ cov_p) if cov_q = L Lᵀ: cov_p is a sum of X Xᵀ.
local function trace_by_factor(p, q)
  local n = p.event_shape[1]
  local of_p = p._tril or p._factor
  local batch = sizes.broadcast(sizes.slice(q._tril.shape, 0, -2), sizes.slice(of_p.shape, 0, -2))
  local tril = q._tril:expand(batch .. {n, n})
  local trace = trace_xxt(solve(tril, of_p:expand(batch .. {n, of_p:size(-1)})))
  if p._tril then return trace end
  return trace + trace_xxt(solve(tril, torch.diag_embed(p._diag:sqrt()):expand(batch .. {n, n})))
end

-- Returns the same if cov_q = W Wᵀ + D, by the inverse D⁻¹ - Aᵀ A.
local function trace_by_low_rank(p, q)
  local a = solve(q._capacitance_tril, q._factor.mT / q._diag:unsqueeze(-2))
  local of_p = p._tril or p._factor
  local trace = trace_xxt(of_p * q._diag:rsqrt():unsqueeze(-1)) - trace_xxt(a:matmul(of_p))
  if p._tril then return trace end
  return trace + (p._diag / q._diag):sum(-1) - trace_xxt(a * p._diag:sqrt():unsqueeze(-2))
end

local function multivariate(p, q)
  check_event_shapes(p, q)
  local trace = q._factor and trace_by_low_rank(p, q) or trace_by_factor(p, q)
  return 0.5 * (log_det(q) - log_det(p) + trace + distance(p, q) - p.event_shape[1])
end

return function(register_kl)
  register_kl(distributions.Normal, distributions.Normal, normal)
  register_kl(distributions.HalfNormal, distributions.HalfNormal, function(p, q)
    return normal(p.base_dist, q.base_dist)
  end)
  local families = {distributions.MultivariateNormal, distributions.LowRankMultivariateNormal}
  for _, of_p in ipairs(families) do
    for _, of_q in ipairs(families) do register_kl(of_p, of_q, multivariate) end
  end
end
