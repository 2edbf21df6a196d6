-- torch/distributions/exponential_family.lua: ExponentialFamily: the base of distributions with natural parameters.

local Distribution = require 'torch.distributions.distribution'
local class = require 'base.class'
local errors = require 'base.errors'
local torch = require 'torch'

---A distribution with a density of the form exp(t(x) · θ - F(θ) + k(x)). A subclass has the field `_natural_params` (a list
---of Tensors, θ), the method `_log_normalizer(…)` (F of θ) and the number `_mean_carrier_measure` (the mean of k); then
---entropy and kl_divergence with the same family follow from the gradients of F.
---@class distributions.ExponentialFamily: distributions.Distribution
local ExponentialFamily = Distribution:extend('ExponentialFamily')

function ExponentialFamily:_entropy()
  if not self._mean_carrier_measure then
    errors.raise('unsupported', class.of(self).__name .. ' does not implement entropy')
  end
  local log_normal, params, gradients = self:_differentiated()
  local result = log_normal - self._mean_carrier_measure
  for i, param in ipairs(params) do
    result = result - (param * gradients[i]):reshape(self.batch_shape .. {-1}):sum(-1)
  end
  return result
end

-- Returns F, the natural parameters as new leaves, and the gradients of F.
function ExponentialFamily:_differentiated()
  local params = {}
  for i, param in ipairs(self._natural_params) do params[i] = param:detach():requires_grad_() end
  local log_normal = self:_log_normalizer(unpack(params))
  return log_normal, params, torch.autograd.grad(log_normal:sum(), params, {create_graph = true})
end

return ExponentialFamily
