-- torch/nn/functional/margin.lua: losses that require a margin between classes or distances.

local errors = require 'base.errors'
local reduction = require 'torch.nn.functional.reduction'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local margin = {}
local defined = checks.definer(margin)
local loss = reduction.definer(defined)

---x where y = 1, max(0, margin - x) where y = -1. Arguments: input, target (1 or -1), {margin = 1, reduction = 'mean'}.
loss('hinge_embedding_loss', {{'margin', 1}}, function(p, number)
  return torch.hinge_embedding_loss(p.input, p.target, p.margin, number)
end)

---log(1 + exp(-y · x)). Arguments: input, target (1 or -1), {reduction = 'mean'}.
loss('soft_margin_loss', {}, function(p, number) return torch.soft_margin_loss(p.input, p.target, number) end)

---Σ max(0, margin - x[y] + x[i])ᵖ / C over i ≠ y. Arguments: input (N, C) or (C), target (N) or () int64, {p = 1 or 2,
---margin = 1, weight (C), reduction = 'mean'}.
loss('multi_margin_loss', {{'p', 1}, {'margin', 1}, {'weight'}}, function(p, number)
  if p.p ~= 1 and p.p ~= 2 then
    errors.raise('argument', ('multi_margin_loss: p is 1 or 2, got %s'):format(tostring(p.p)))
  end
  return torch.multi_margin_loss(p.input, p.target, p.p, p.margin, p.weight, number)
end)

---Σ max(0, 1 - (x[y[j]] - x[i])) / C. Arguments: input (N, C) or (C), target int64 of the same shape: the classes
---and then -1, {reduction = 'mean'}.
loss('multilabel_margin_loss', {}, function(p, number)
  return torch.multilabel_margin_loss(p.input, p.target, number)
end)

---The mean over classes of the cross entropy of sigmoid(x) with y. Arguments: input (N, C) or (C), target of the same
---shape in 0 … 1, {weight (C), reduction = 'mean'}.
loss('multilabel_soft_margin_loss', {{'weight'}}, function(p)
  local x, y = p.input, p.target
  local values = -(y * torch.log_sigmoid(x) + (1 - y) * torch.log_sigmoid(-x))
  if p.weight then values = values * p.weight end
  return reduction.apply(values:sum(-1) / x:size(-1), 'multilabel_soft_margin_loss', p.reduction)
end)

local PAIR = {'input1', 'input2', 'target', {'margin', 0}, {'reduction', 'mean'}}

---1 - cos(x1, x2) where y = 1, max(0, cos(x1, x2) - margin) where y = -1. Arguments: input1, input2 (N, D) or (D), target
---(N) or (), {margin = 0, reduction = 'mean'}.
defined('cosine_embedding_loss', PAIR, function(p)
  return torch.cosine_embedding_loss(p.input1, p.input2, p.target, p.margin,
    reduction.number('cosine_embedding_loss', p.reduction))
end)

---max(0, -y · (x1 - x2) + margin). Arguments: input1, input2, target (1 or -1), {margin = 0, reduction = 'mean'}.
defined('margin_ranking_loss', PAIR, function(p)
  return torch.margin_ranking_loss(p.input1, p.input2, p.target, p.margin,
    reduction.number('margin_ranking_loss', p.reduction))
end)

local function check_margin(name, value)
  if value > 0 then return end
  errors.raise('argument', ('%s: margin must be greater than 0, got %s'):format(name, tostring(value)))
end

---max(0, d(anchor, positive) - d(anchor, negative) + margin) with d the p-norm of the difference (Balntas et al. 2016).
---Arguments: anchor, positive, negative (N, D) or (D), {margin = 1, p = 2, eps = 1e-6, swap = false, reduction = 'mean'}.
defined('triplet_margin_loss', {'anchor', 'positive', 'negative', {'margin', 1}, {'p', 2}, {'eps', 1e-6}, {'swap', false},
                                {'reduction', 'mean'}}, function(p)
  check_margin('triplet_margin_loss', p.margin)
  return torch.triplet_margin_loss(p.anchor, p.positive, p.negative, p.margin, p.p, p.eps, p.swap,
    reduction.number('triplet_margin_loss', p.reduction))
end)

---triplet_margin_loss with a custom distance. Arguments: anchor, positive, negative, {distance_function (default:
---pairwise_distance), margin = 1, swap = false, reduction = 'mean'}.
defined('triplet_margin_with_distance_loss', {'anchor', 'positive', 'negative', {'distance_function'}, {'margin', 1},
                                              {'swap', false}, {'reduction', 'mean'}}, function(p)
  check_margin('triplet_margin_with_distance_loss', p.margin)
  local distance = p.distance_function or torch.pairwise_distance
  local near, far = distance(p.anchor, p.positive), distance(p.anchor, p.negative)
  if p.swap then far = torch.minimum(far, distance(p.positive, p.negative)) end
  return reduction.apply((near - far + p.margin):clamp_min(0), 'triplet_margin_with_distance_loss', p.reduction)
end)

return margin
