-- torch/distributions/kl/different_families.lua: divergences of two distributions of different families.

local distributions = require 'torch.distributions'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

local EULER = utils.euler_constant

local formulas = {Bernoulli = {}, Beta = {}, ContinuousBernoulli = {}, Exponential = {}, Gamma = {}, Gumbel = {},
                  Laplace = {}, Normal = {}, Pareto = {}, Uniform = {}}

-- Families whose support does not contain that of p: the divergence is infinite, of the shape of a parameter of p.
local INFINITE = {
  {'Beta', 'concentration1', {'Pareto'}},
  {'ContinuousBernoulli', 'probs', {'Pareto'}},
  {'Exponential', 'rate', {'Beta', 'ContinuousBernoulli', 'Pareto', 'Uniform'}},
  {'Gamma', 'concentration', {'Beta', 'ContinuousBernoulli', 'Pareto', 'Uniform'}},
  {'Gumbel', 'loc', {'Beta', 'ContinuousBernoulli', 'Exponential', 'Gamma', 'Pareto', 'Uniform'}},
  {'Laplace', 'loc', {'Beta', 'ContinuousBernoulli', 'Exponential', 'Gamma', 'Pareto', 'Uniform'}},
  {'Normal', 'loc', {'Beta', 'ContinuousBernoulli', 'Exponential', 'Gamma', 'Pareto', 'Uniform'}},
  {'Pareto', 'scale', {'Beta', 'ContinuousBernoulli', 'Uniform'}},
  {'Poisson', 'rate', {'Bernoulli', 'Binomial'}},
}

function formulas.Bernoulli.Poisson(p, q) return -p:entropy() - (p.probs * q.rate:log() - q.rate) end

function formulas.Beta.ContinuousBernoulli(p, q)
  return -p:entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q:_cont_bern_log_norm()
end

function formulas.Beta.Exponential(p, q) return -p:entropy() - q.rate:log() + q.rate * p.mean end

function formulas.Beta.Gamma(p, q)
  local t2 = q.concentration:lgamma() - q.concentration * q.rate:log()
  local t3 = (q.concentration - 1) * (p.concentration1:digamma() - (p.concentration1 + p.concentration0):digamma())
  return -p:entropy() + t2 - t3 + q.rate * p.mean
end

function formulas.Beta.Normal(p, q)
  local mean, var_normal = p.mean, q.scale:pow(2)
  local t2 = 0.5 * (var_normal * 2 * math.pi):log()
  local t3 = (mean * (1 - mean) / (p.concentration1 + p.concentration0 + 1) + mean:pow(2)) * 0.5
  return -p:entropy() + t2 + (t3 - q.loc * mean + q.loc:pow(2) * 0.5) / var_normal
end

function formulas.Beta.Uniform(p, q)
  local result = -p:entropy() + (q.high - q.low):log()
  result[q.low:gt(0):logical_or(q.high:lt(1))] = torch.inf
  return result
end

function formulas.ContinuousBernoulli.Exponential(p, q) return -p:entropy() - torch.log(q.rate) + q.rate * p.mean end

function formulas.ContinuousBernoulli.Normal(p, q)
  local t2 = 0.5 * (math.log(2 * math.pi) + torch.square(q.loc / q.scale)) + torch.log(q.scale)
  local t3 = (p.variance + torch.square(p.mean) - 2 * q.loc * p.mean) / (2 * torch.square(q.scale))
  return -p:entropy() + t2 + t3
end

function formulas.ContinuousBernoulli.Uniform(p, q)
  local result = -p:entropy() + (q.high - q.low):log()
  return torch.where(q.low:ge(0):logical_or(q.high:le(1)), torch.full_like(result, torch.inf), result)
end

function formulas.Exponential.Gamma(p, q)
  local ratio = q.rate / p.rate
  return -q.concentration * torch.log(ratio) + ratio + q.concentration:lgamma() + q.concentration * EULER - (1 + EULER)
end

function formulas.Exponential.Gumbel(p, q)
  local product, ratio = p.rate * q.scale, q.loc / q.scale
  return product:log() - 1 - ratio + torch.exp(ratio) * product / (product + 1) + product:reciprocal()
end

function formulas.Exponential.Normal(p, q)
  local var_normal, rate_sqr = q.scale:pow(2), p.rate:pow(2)
  local t1 = 0.5 * torch.log(rate_sqr * var_normal * 2 * math.pi)
  return t1 - 1 + (rate_sqr:reciprocal() - q.loc / p.rate + q.loc:pow(2) * 0.5) / var_normal
end

function formulas.Gamma.Exponential(p, q) return -p:entropy() - q.rate:log() + q.rate * p.concentration / p.rate end

function formulas.Gamma.Gumbel(p, q)
  local product, ratio = p.rate * q.scale, q.loc / q.scale
  local t1 = (p.concentration - 1) * p.concentration:digamma() - p.concentration:lgamma() - p.concentration
  local t2 = product:log() + p.concentration / product
  return t1 + t2 + torch.exp(ratio) * (1 + product:reciprocal()):pow(-p.concentration) - ratio
end

function formulas.Gamma.Normal(p, q)
  local var_normal, beta_sqr = q.scale:pow(2), p.rate:pow(2)
  local t1 = 0.5 * torch.log(beta_sqr * var_normal * 2 * math.pi) - p.concentration - p.concentration:lgamma()
  local t2 = 0.5 * (p.concentration:pow(2) + p.concentration) / beta_sqr
  local t3 = q.loc * p.concentration / p.rate
  return t1 + (p.concentration - 1) * p.concentration:digamma() + (t2 - t3 + 0.5 * q.loc:pow(2)) / var_normal
end

function formulas.Gumbel.Normal(p, q)
  local ratio = p.scale / q.scale
  local t1 = (ratio / math.sqrt(2 * math.pi)):log()
  local t2 = (math.pi * ratio * 0.5):pow(2) / 3
  local t3 = ((p.loc + p.scale * EULER - q.loc) / q.scale):pow(2) * 0.5
  return -t1 + t2 + t3 - (EULER + 1)
end

function formulas.Laplace.Normal(p, q)
  local var_normal = q.scale:pow(2)
  local ratio = p.scale:pow(2) / var_normal
  local t1 = 0.5 * torch.log(2 * ratio / math.pi)
  local t2 = 0.5 * p.loc:pow(2) - p.loc * q.loc + 0.5 * q.loc:pow(2)
  return -t1 + ratio + t2 / var_normal - 1
end

function formulas.Normal.Gumbel(p, q)
  local mean_ratio, var_ratio, loc_ratio = p.loc / q.scale, (p.scale / q.scale):pow(2), q.loc / q.scale
  local t3 = torch.exp(-mean_ratio + 0.5 * var_ratio + loc_ratio)
  return -(var_ratio:log() * 0.5) + (mean_ratio - loc_ratio) + t3 - (0.5 * (1 + math.log(2 * math.pi)))
end

function formulas.Normal.Laplace(p, q)
  local difference = p.loc - q.loc
  local scaled = difference / p.scale
  local t2 = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * scaled:pow(2))
  local t3 = difference * torch.erf(math.sqrt(0.5) * scaled)
  return -torch.log(p.scale / q.scale) + (t2 + t3) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))
end

function formulas.Pareto.Exponential(p, q)
  local product = p.scale * q.rate
  local result = (p.alpha / product):log() - p.alpha:reciprocal() + p.alpha * product / (p.alpha - 1) - 1
  result[p.alpha:le(1)] = torch.inf
  return result
end

function formulas.Pareto.Gamma(p, q)
  local common = p.scale:log() + p.alpha:reciprocal()
  local t2 = q.concentration:lgamma() - q.concentration * q.rate:log()
  local t4 = q.rate * p.alpha * p.scale / (p.alpha - 1)
  local result = p.alpha:log() - common + t2 + (1 - q.concentration) * common + t4 - 1
  result[p.alpha:le(1)] = torch.inf
  return result
end

function formulas.Pareto.Normal(p, q)
  local var_normal, common = 2 * q.scale:pow(2), p.scale / (p.alpha - 1)
  local t1 = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale):log()
  local t3 = p.alpha * common:pow(2) / (p.alpha - 2)
  local t4 = (p.alpha * common - q.loc):pow(2)
  local result = t1 - p.alpha:reciprocal() + (t3 + t4) / var_normal - 1
  result[p.alpha:le(2)] = torch.inf
  return result
end

local function x_log_x(x) return torch.special.xlogy(x, x) end

function formulas.Uniform.Beta(p, q)
  local width = p.high - p.low
  local t2 = (q.concentration1 - 1) * (x_log_x(p.high) - x_log_x(p.low) - width) / width
  local t3 = (q.concentration0 - 1) * (x_log_x(1 - p.high) - x_log_x(1 - p.low) + width) / width
  local t4 = q.concentration1:lgamma() + q.concentration0:lgamma() - (q.concentration1 + q.concentration0):lgamma()
  local result = t3 + t4 - torch.log(width) - t2
  result[p.high:gt(1):logical_or(p.low:lt(0))] = torch.inf
  return result
end

function formulas.Uniform.ContinuousBernoulli(p, q)
  local result = -p:entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q:_cont_bern_log_norm()
  return torch.where(p.high:ge(1):logical_or(p.low:le(0)), torch.full_like(result, torch.inf), result)
end

function formulas.Uniform.Exponential(p, q)
  local result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate):log()
  result[p.low:lt(0)] = torch.inf
  return result
end

function formulas.Uniform.Gamma(p, q)
  local width = p.high - p.low
  local t2 = q.concentration:lgamma() - q.concentration * q.rate:log()
  local t3 = (1 - q.concentration) * (x_log_x(p.high) - x_log_x(p.low) - width) / width
  local result = -width:log() + t2 + t3 + q.rate * (p.high + p.low) / 2
  result[p.low:lt(0)] = torch.inf
  return result
end

function formulas.Uniform.Gumbel(p, q)
  local common = q.scale / (p.high - p.low)
  local high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
  return common:log() + 0.5 * (high + low) - common * (torch.exp(-high) - torch.exp(-low))
end

function formulas.Uniform.Normal(p, q)
  local width = p.high - p.low
  local t1 = (math.sqrt(math.pi * 2) * q.scale / width):log()
  local t3 = ((p.high + p.low - 2 * q.loc) / 2):pow(2)
  return t1 + 0.5 * (width:pow(2) / 12 + t3) / q.scale:pow(2)
end

function formulas.Uniform.Pareto(p, q)
  local width = p.high - p.low
  local t1 = (q.alpha * q.scale:pow(q.alpha) * width):log()
  local t2 = (x_log_x(p.high) - x_log_x(p.low) - width) / width
  local result = t2 * (q.alpha + 1) - t1
  result[p.low:lt(q.scale)] = torch.inf
  return result
end

return function(register_kl)
  for _, entry in ipairs(INFINITE) do
    local of_p, parameter = distributions[entry[1]], entry[2]
    local function infinite(p) return torch.full_like(p[parameter], torch.inf) end
    for _, name in ipairs(entry[3]) do register_kl(of_p, distributions[name], infinite) end
  end
  -- The order does not matter: no two classes are registered twice.
  for of_p, by_q in next, formulas do
    for of_q, formula in next, by_q do register_kl(distributions[of_p], distributions[of_q], formula) end
  end
end
