-- torch/distributions/multivariate/dirichlet.lua: Dirichlet: vectors of nonnegative numbers whose sum is 1.

local ExponentialFamily = require 'torch.distributions.exponential_family'
local F = require 'torch.nn.functional'
local args = require 'base.args'
local checks = require 'torch.functions.checks'
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'

---Vectors of nonnegative numbers whose sum is 1. Arguments: concentration (Tensor (…, K), alpha), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local dirichlet = torch.distributions.Dirichlet(torch.tensor{0.5, 0.5})
---assert(math.abs(dirichlet:sample():sum():item() - 1) < 1e-6)
---```
---@class distributions.Dirichlet: distributions.ExponentialFamily
---@overload fun(concentration: torch.Tensor, validate_args?: boolean): distributions.Dirichlet
---@field concentration torch.Tensor (…, K)
local Dirichlet = ExponentialFamily:extend('Dirichlet')
Dirichlet.arg_constraints = ordered.new{{'concentration', constraints.independent(constraints.positive, 1)}}
Dirichlet.support = constraints.simplex
Dirichlet.has_rsample = true

-- Samples with their gradient, which the operator itself lacks.
local Sample = torch.autograd.Function:extend('Dirichlet')

function Sample.forward(ctx, concentration)
  local x = torch._sample_dirichlet(concentration)
  ctx:save_for_backward(x, concentration)
  return x
end

function Sample.backward(ctx, grad_output)
  local x, concentration = unpack(ctx.saved_tensors)
  local total = concentration:sum(-1, true):expand_as(concentration)
  local grad = torch._dirichlet_grad(x, concentration, total)
  return grad * (grad_output - (x * grad_output):sum(-1, true))
end

local signature = args.signature('Dirichlet', {'concentration', {'validate_args'}})

function Dirichlet:init(...)
  local bound = signature:bind(...)
  self.concentration = checks.tensor('Dirichlet: concentration', bound.concentration)
  if self.concentration:dim() < 1 then
    errors.raise('argument', '`concentration` parameter must be at least one-dimensional.')
  end
  local shape = self.concentration.shape
  self:_start(sizes.slice(shape, 0, -1), sizes.slice(shape, -1), bound.validate_args)
end

function Dirichlet:_expand_into(new, batch_shape)
  new.concentration = self.concentration:expand(batch_shape .. self.event_shape)
end

function Dirichlet:_rsample(sample_shape)
  return Sample.apply(self.concentration:expand(self:_extended_shape(sample_shape)))
end

function Dirichlet:_log_prob(value)
  return torch.xlogy(self.concentration - 1, value):sum(-1) + torch.lgamma(self.concentration:sum(-1))
    - torch.lgamma(self.concentration):sum(-1)
end

Dirichlet.mean = properties.property(function(self) return self.concentration / self.concentration:sum(-1, true) end)

Dirichlet.mode = properties.property(function(self)
  local above = (self.concentration - 1):clamp{min = 0}
  local mode = above / above:sum(-1, true)
  local mask = self.concentration:lt(1):all(-1)
  mode[mask] = F.one_hot(mode[mask]:argmax(-1), {num_classes = above:size(-1)}):to(mode)
  return mode
end)

Dirichlet.variance = properties.property(function(self)
  local total = self.concentration:sum(-1, true)
  return self.concentration * (total - self.concentration) / (total:pow(2) * (total + 1))
end)

function Dirichlet:_entropy()
  local k, total = self.concentration:size(-1), self.concentration:sum(-1)
  return torch.lgamma(self.concentration):sum(-1) - torch.lgamma(total) - (k - total) * torch.digamma(total)
    - ((self.concentration - 1) * torch.digamma(self.concentration)):sum(-1)
end

Dirichlet._natural_params = properties.property(function(self) return {self.concentration} end)

function Dirichlet:_log_normalizer(x) return x:lgamma():sum(-1) - torch.lgamma(x:sum(-1)) end

return Dirichlet
