-- torch/distributions/kl/same_family.lua: divergences of two distributions of one family.

local F = require 'torch.nn.functional'
local class = require 'base.class'
local distributions = require 'torch.distributions'
local errors = require 'base.errors'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

local formulas = {}

function formulas.Bernoulli(p, q)
  local t1 = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
  t1[q.probs:eq(0)] = torch.inf
  t1[p.probs:eq(0)] = 0
  local t2 = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
  t2[q.probs:eq(1)] = torch.inf
  t2[p.probs:eq(1)] = 0
  return t1 + t2
end

function formulas.Beta(p, q)
  local sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
  local t1 = q.concentration1:lgamma() + q.concentration0:lgamma() + sum_p:lgamma()
  local t2 = p.concentration1:lgamma() + p.concentration0:lgamma() + sum_q:lgamma()
  local t3 = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
  local t4 = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
  local t5 = (sum_q - sum_p) * torch.digamma(sum_p)
  return t1 - t2 + t3 + t4 + t5
end

function formulas.Binomial(p, q)
  if p.total_count:lt(q.total_count):any():item() then
    errors.raise('unsupported', 'KL between Binomials where q.total_count > p.total_count is not implemented')
  end
  local kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs):log1p() - (-q.probs):log1p())
  kl[p.total_count:gt(q.total_count)] = torch.inf
  return kl
end

function formulas.Categorical(p, q)
  local t = p.probs * (p.logits - q.logits)
  t[q.probs:eq(0):expand_as(t)] = torch.inf
  t[p.probs:eq(0):expand_as(t)] = 0
  return t:sum(-1)
end

function formulas.Cauchy(p, q)
  local t1 = ((p.scale + q.scale):pow(2) + (p.loc - q.loc):pow(2)):log()
  return t1 - (4 * p.scale * q.scale):log()
end

function formulas.ContinuousBernoulli(p, q)
  local t1 = p.mean * (p.logits - q.logits)
  local t2 = p:_cont_bern_log_norm() + torch.log1p(-p.probs)
  return t1 + t2 - q:_cont_bern_log_norm() - torch.log1p(-q.probs)
end

function formulas.Dirichlet(p, q)
  local sum_p, sum_q = p.concentration:sum(-1), q.concentration:sum(-1)
  local t1 = sum_p:lgamma() - sum_q:lgamma()
  local t2 = (p.concentration:lgamma() - q.concentration:lgamma()):sum(-1)
  local t3 = p.concentration - q.concentration
  local t4 = p.concentration:digamma() - sum_p:digamma():unsqueeze(-1)
  return t1 - t2 + (t3 * t4):sum(-1)
end

function formulas.Exponential(p, q)
  local ratio = q.rate / p.rate
  return -ratio:log() + ratio - 1
end

-- By the Bregman divergence of the log-normalizer.
function formulas.ExponentialFamily(p, q)
  if class.of(p) ~= class.of(q) then
    errors.raise('unsupported', 'The cross KL-divergence between different exponential families cannot be computed using '
      .. 'Bregman divergences')
  end
  local log_normal, p_params, gradients = p:_differentiated()
  local q_params = q._natural_params
  local result = q:_log_normalizer(unpack(q_params)) - log_normal
  for i, param in ipairs(p_params) do
    result = result - utils.sum_rightmost((q_params[i] - param) * gradients[i], #q.event_shape)
  end
  return result
end

function formulas.Gamma(p, q)
  local t1 = q.concentration * (p.rate / q.rate):log()
  local t2 = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
  local t3 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
  local t4 = (q.rate - p.rate) * (p.concentration / p.rate)
  return t1 + t2 + t3 + t4
end

function formulas.Geometric(p, q) return -p:entropy() - torch.log1p(-q.probs) / p.probs - q.logits end

function formulas.Gumbel(p, q)
  local ct1, ct2, ct3 = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
  local t1 = -ct1:log() - ct2 + ct3
  local t2 = ct1 * utils.euler_constant
  local t3 = torch.exp(ct2 + (1 + ct1):lgamma() - ct3)
  return t1 + t2 + t3 - (1 + utils.euler_constant)
end

function formulas.Laplace(p, q)
  local scale_ratio, loc_abs_diff = p.scale / q.scale, (p.loc - q.loc):abs()
  local t1 = -scale_ratio:log()
  local t2 = loc_abs_diff / q.scale
  local t3 = scale_ratio * torch.exp(-loc_abs_diff / p.scale)
  return t1 + t2 + t3 - 1
end

function formulas.OneHotCategorical(p, q) return formulas.Categorical(p._categorical, q._categorical) end

function formulas.Pareto(p, q)
  local alpha_ratio = q.alpha / p.alpha
  local result = q.alpha * (p.scale / q.scale):log() - alpha_ratio:log() + alpha_ratio - 1
  result[p.scale:lt(q.scale)] = torch.inf
  return result
end

function formulas.Poisson(p, q) return p.rate * (p.rate:log() - q.rate:log()) - (p.rate - q.rate) end

function formulas.Uniform(p, q)
  local result = ((q.high - q.low) / (p.high - p.low)):log()
  result[q.low:gt(p.low):logical_or(q.high:lt(p.high))] = torch.inf
  return result
end

local function are_equal(transforms, others)
  if #transforms ~= #others then return false end
  for i, transform in ipairs(transforms) do
    if transform ~= others[i] then return false end
  end
  return true
end

return function(register_kl, kl_divergence)
  local Independent, Transformed = distributions.Independent, distributions.TransformedDistribution
  register_kl(Transformed, Transformed, function(p, q)
    if not are_equal(p.transforms, q.transforms) or p.event_shape ~= q.event_shape then
      errors.raise('unsupported', 'KL between transformed distributions with other transforms or event shapes is not '
        .. 'implemented')
    end
    return kl_divergence(p.base_dist, q.base_dist)
  end)
  register_kl(Independent, Independent, function(p, q)
    if p.reinterpreted_batch_ndims ~= q.reinterpreted_batch_ndims then
      errors.raise('unsupported', 'KL between Independents with other reinterpreted_batch_ndims is not implemented')
    end
    return utils.sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
  end)
  -- The order does not matter: no class is registered twice.
  for name, formula in next, formulas do register_kl(distributions[name], distributions[name], formula) end
end
