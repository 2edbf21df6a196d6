-- torch/nn/functional/loss.lua: losses for regression and likelihoods.
--
-- Python's deprecated size_average and reduce are not supported: use `reduction`.

local errors = require 'base.errors'
local reduction = require 'torch.nn.functional.reduction'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local losses = {}
local defined = checks.definer(losses)
local loss = reduction.definer(defined)

---Cross entropy of logits (N, C, …) with class indices (N, …) int64 or probabilities (N, C, …). Arguments: input,
---target, {weight (C), ignore_index = -100, label_smoothing = 0, reduction = 'mean' | 'sum' | 'none'}.
---
---```lua
---local torch = require 'torch'
---local F = torch.nn.functional
---local labels = torch.tensor({3, 7}, {dtype = torch.int64})
---assert(math.abs(F.cross_entropy(torch.zeros(2, 10), labels):item() - math.log(10)) < 1e-6)
---assert(F.cross_entropy(torch.zeros(2, 10), labels, {reduction = 'none'}).shape[1] == 2)
---```
loss('cross_entropy', {{'weight'}, {'ignore_index', -100}, {'label_smoothing', 0}}, function(p, number)
  return torch.cross_entropy_loss(p.input, p.target, p.weight, number, p.ignore_index, p.label_smoothing)
end)

---Negative log likelihood of log-probabilities (N, C, …) and class indices (N, …) int64. Arguments: input, target,
---{weight (C), ignore_index = -100, reduction = 'mean'}.
loss('nll_loss', {{'weight'}, {'ignore_index', -100}}, function(p, number)
  return torch.nll_loss_nd(p.input, p.target, p.weight, number, p.ignore_index)
end)

local function check_weight(name, p)
  if tostring(p.weight.shape) == tostring(p.input.shape) then return end
  errors.raise('argument', ('%s: weight %s must have the shape of input %s'):format(name, tostring(p.weight.shape),
    tostring(p.input.shape)))
end

-- The mean is divided by the sum of the weights.
local function weighted(name, p, values)
  check_weight(name, p)
  local all = values * p.weight
  if p.reduction == 'mean' then return all:sum() / p.weight:sum() end
  return reduction.apply(all, name, p.reduction)
end

---(x - y)². Arguments: input, target of the same shape, {weight of that shape, reduction = 'mean' | 'sum' | 'none'}.
loss('mse_loss', {{'weight'}}, function(p, number)
  if p.weight then return weighted('mse_loss', p, (p.input - p.target):pow(2)) end
  return torch.mse_loss(p.input, p.target, number)
end)

---|x - y|; arguments as mse_loss.
loss('l1_loss', {{'weight'}}, function(p, number)
  if p.weight then return weighted('l1_loss', p, (p.input - p.target):abs()) end
  return torch.l1_loss(p.input, p.target, number)
end)

---(x - y)² / (2 · beta) where |x - y| < beta, else |x - y| - beta / 2. Arguments: input, target, {beta = 1, reduction}.
loss('smooth_l1_loss', {{'beta', 1}}, function(p, number)
  return torch.smooth_l1_loss(p.input, p.target, number, p.beta)
end)

---(x - y)² / 2 where |x - y| ≤ delta, else delta · (|x - y| - delta / 2). Arguments: input, target, {delta = 1, weight of
---their shape, reduction}.
loss('huber_loss', {{'delta', 1}, {'weight'}}, function(p, number)
  if p.weight == nil then return torch.huber_loss(p.input, p.target, number, p.delta) end
  check_weight('huber_loss', p)
  local values = torch.huber_loss(p.input, p.target, reduction.number('huber_loss', 'none'), p.delta)
  return reduction.apply(values * p.weight, 'huber_loss', p.reduction)
end)

---Cross entropy of probabilities in 0 … 1 with targets in 0 … 1. Arguments: input, target, {weight, reduction}.
loss('binary_cross_entropy', {{'weight'}}, function(p, number)
  if tostring(p.input.shape) ~= tostring(p.target.shape) then
    errors.raise('argument', ('binary_cross_entropy: target %s must have the shape of input %s'):format(
      tostring(p.target.shape), tostring(p.input.shape)))
  end
  return torch.binary_cross_entropy(p.input, p.target, p.weight and p.weight:expand_as(p.input), number)
end)

---binary_cross_entropy of sigmoid(input), computed stably. Arguments: input, target, {weight, pos_weight (C),
---reduction}.
loss('binary_cross_entropy_with_logits', {{'weight'}, {'pos_weight'}}, function(p, number)
  return torch.binary_cross_entropy_with_logits(p.input, p.target, p.weight, p.pos_weight, number)
end)

---Kullback-Leibler divergence. Arguments: input (log-probabilities), target, {reduction = 'mean' | 'batchmean' |
---'sum' | 'none', log_target = false}.
defined('kl_div', {'input', 'target', {'reduction', 'mean'}, {'log_target', false}}, function(p)
  local by_batch = p.reduction == 'batchmean'
  local number = reduction.number('kl_div', by_batch and 'sum' or p.reduction)
  local out = torch.kl_div(p.input, p.target, number, {log_target = p.log_target})
  return by_batch and p.input:dim() > 0 and out / p.input:size(0) or out
end)

local function lengths_of(value)
  if type(value) == 'table' then return torch.tensor(value, {dtype = 'int64'}) end
  return value
end

---Connectionist temporal classification (Graves et al. 2006). Arguments: log_probs (T, N, C) or (T, C), targets (N, S) or
---concatenated (Σ target_lengths), input_lengths (N), target_lengths (N) as int64 tensors or lists, {blank = 0,
---reduction = 'mean', zero_infinity = false}.
defined('ctc_loss', {'log_probs', 'targets', 'input_lengths', 'target_lengths', {'blank', 0}, {'reduction', 'mean'},
                     {'zero_infinity', false}}, function(p)
  return torch.ctc_loss(p.log_probs, p.targets, lengths_of(p.input_lengths), lengths_of(p.target_lengths), p.blank,
    reduction.number('ctc_loss', p.reduction), p.zero_infinity)
end)

---Negative log likelihood of counts under a Poisson distribution. Arguments: input (its log, unless log_input = false),
---target, {log_input = true, full = false (Stirling's term), eps = 1e-8, reduction}.
loss('poisson_nll_loss', {{'log_input', true}, {'full', false}, {'eps', 1e-8}}, function(p, number)
  return torch.poisson_nll_loss(p.input, p.target, p.log_input, p.full, p.eps, number)
end)

-- Accepts a variance for each element or for each row; a dimension of size 1 is broadcast.
local function fit_variance(var, input)
  local own, wanted = var:size(), input:size()
  if #own == #wanted - 1 then
    for i, extent in ipairs(own) do
      if extent ~= wanted[i] then own = {} end
    end
    if #own > 0 or #wanted == 1 then return var:unsqueeze(-1) end
  end
  local different = 0
  for i, extent in ipairs(wanted) do
    if own[i] ~= extent then different = different + (own[i] == 1 and 1 or 2) end
  end
  if #own == #wanted and different <= 1 then return var end
  errors.raise('argument', ('gaussian_nll_loss: var %s fits no input %s'):format(tostring(var.shape), tostring(input.shape)))
end

---Negative log likelihood under normal distributions (Nix and Weigend 1994). Arguments: input (the means), target, var
---(a tensor of the input's shape, without its last dimension or with 1 there; or a number), {full = false, eps = 1e-6,
---reduction}.
defined('gaussian_nll_loss', {'input', 'target', 'var', {'full', false}, {'eps', 1e-6}, {'reduction', 'mean'}}, function(p)
  local var = type(p.var) == 'number' and torch.full_like(p.input, p.var) or checks.tensor('gaussian_nll_loss: var', p.var)
  if var:lt(0):any():item() then errors.raise('argument', 'gaussian_nll_loss: var has a negative entry') end
  var = fit_variance(var, p.input):clone()
  -- The clamp is not recorded by autograd, as in PyTorch.
  torch.no_grad(var.clamp_, var, {min = p.eps})
  local values = (var:log() + (p.input - p.target):pow(2) / var) * 0.5
  if p.full then values = values + 0.5 * math.log(2 * math.pi) end
  return reduction.apply(values, 'gaussian_nll_loss', p.reduction)
end)

return losses
