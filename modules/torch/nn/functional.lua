-- torch/nn/functional.lua: torch.nn.functional: layers and losses without state.
--
-- A function that ATen has with the same parameters is that operator; the others are here. The activations that follow,
-- relu(x), leaky_relu(x, 0.2, {inplace = true}), …, take a tensor of any shape and return one of the same shape.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local torch = require 'torch'

local F = {}

-- ATen's operator of the same name takes Python's arguments as they are.
local SAME = {'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'linear',
              'bilinear', 'sigmoid', 'tanh', 'logsigmoid', 'softplus', 'softshrink', 'adaptive_avg_pool1d',
              'adaptive_avg_pool2d', 'adaptive_avg_pool3d', 'avg_pool1d', 'avg_pool2d', 'avg_pool3d',
              'scaled_dot_product_attention',
              'pad', 'cosine_similarity', 'pairwise_distance', 'one_hot', 'pixel_shuffle', 'pixel_unshuffle', 'glu',
              'prelu', 'hardsigmoid', 'hardtanh', 'hardshrink', 'channel_shuffle', 'triplet_margin_loss', 'grid_sample'}
local RENAMED = {logsigmoid = 'log_sigmoid', unfold = 'im2col', fold = 'col2im'}
local is_same = {unfold = true, fold = true}
for _, name in ipairs(SAME) do is_same[name] = true end

local function defined(name, parameters, fn)
  local signature = args.signature(name, parameters)
  F[name] = function(...) return fn(signature:bind(...)) end
end

-- Activations that exist in place too.
for _, entry in ipairs{{'relu'}, {'relu6'}, {'silu'}, {'mish'}, {'hardswish'}, {'selu'}, {'celu', {'alpha', 1}},
                       {'elu', {'alpha', 1}}, {'leaky_relu', {'negative_slope', 0.01}}} do
  local name, option = entry[1], entry[2]
  local parameters = option and {'input', option, {'inplace', false}} or {'input', {'inplace', false}}
  local in_place = name .. '_'
  if option then
    defined(name, parameters, function(p)
      return torch[p.inplace and in_place or name](p.input, p[option[1]])
    end)
  else
    local general = args.signature(name, parameters)
    F[name] = function(input, options)
      if options == nil then return torch[name](input) end
      return torch[general:bind(input, options).inplace and in_place or name](input)
    end
  end
end

---x · Φ(x) (Hendrycks and Gimpel 2016). Arguments: input, {approximate = 'none' or 'tanh'}.
defined('gelu', {'input', {'approximate', 'none'}}, function(p)
  return torch.gelu(p.input, {approximate = p.approximate})
end)

local function along_dim(name)
  defined(name, {'input', 'dim', {'dtype'}}, function(p)
    if p.dtype then return torch[name](p.input, p.dim, p.dtype) end
    return torch[name](p.input, p.dim)
  end)
end
---exp(x) / Σ exp(x) along dim. Arguments: input, dim, {dtype}.
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.functional.softmax(torch.zeros(2, 4), 1):eq(0.25):all():item())
---```
along_dim 'softmax'
---log(softmax(x)). Arguments: input, dim, {dtype}.
along_dim 'log_softmax'

local function dropout(name, operator)
  defined(name, {'input', {'p', 0.5}, {'training', true}, {'inplace', false}}, function(a)
    if a.p < 0 or a.p > 1 then
      errors.raise('argument', ('%s: p is a probability between 0 and 1, got %s'):format(name, tostring(a.p)))
    end
    return torch[a.inplace and operator .. '_' or operator](a.input, a.p, a.training)
  end)
end
---Zeroes elements with probability p, scales the others by 1 / (1 - p). Arguments: input, p = 0.5, training = true,
---inplace = false.
dropout('dropout', 'dropout')
---Zeroes whole channels of (N, C, L); arguments as dropout's.
dropout('dropout1d', 'feature_dropout')
---Zeroes whole channels of (N, C, H, W); arguments as dropout's.
dropout('dropout2d', 'feature_dropout')
---Zeroes whole channels of (N, C, D, H, W); arguments as dropout's.
dropout('dropout3d', 'feature_dropout')
---Dropout that keeps mean and variance of SELU activations (Klambauer et al. 2017); arguments as dropout's.
dropout('alpha_dropout', 'alpha_dropout')

---max_pool1d, max_pool2d, max_pool3d: the largest value of each window of (N, C, …). Arguments: input, kernel_size,
---stride = kernel_size, padding = 0, dilation = 1, ceil_mode = false, return_indices = false.
for dims = 1, 3 do
  local name = ('max_pool%dd'):format(dims)
  defined(name, {'input', 'kernel_size', {'stride'}, {'padding', 0}, {'dilation', 1}, {'ceil_mode', false},
                 {'return_indices', false}}, function(p)
    local operator = p.return_indices and name .. '_with_indices' or name
    return torch[operator](p.input, p.kernel_size, p.stride or p.kernel_size, p.padding, p.dilation, p.ceil_mode)
  end)
end

---Largest values such that the output has the given size.
---@param input torch.Tensor (N, C, H, W)
---@param output_size integer|integer[]
---@return torch.Tensor
function F.adaptive_max_pool2d(input, output_size)
  local out = torch.adaptive_max_pool2d(input, output_size)
  return out
end

---Rows of `weight` (num_embeddings, dim) by int64 index. Arguments: input, weight, {padding_idx, scale_grad_by_freq,
---sparse}.
defined('embedding', {'input', 'weight', {'padding_idx'}, {'scale_grad_by_freq', false}, {'sparse', false}}, function(p)
  return torch.embedding(p.weight, p.input, p.padding_idx or -1, p.scale_grad_by_freq, p.sparse)
end)

---Normalizes each channel of (N, C, …). Arguments: input, running_mean (C), running_var (C), {weight (C), bias (C),
---training = false, momentum = 0.1, eps = 1e-5}.
defined('batch_norm', {'input', 'running_mean', 'running_var', {'weight'}, {'bias'}, {'training', false},
                       {'momentum', 0.1}, {'eps', 1e-5}}, function(p)
  return torch.batch_norm(p.input, p.weight, p.bias, p.running_mean, p.running_var, p.training, p.momentum, p.eps, true)
end)

---Normalizes over the last dimensions. Arguments: input, normalized_shape (a list), {weight, bias, eps = 1e-5}.
defined('layer_norm', {'input', 'normalized_shape', {'weight'}, {'bias'}, {'eps', 1e-5}}, function(p)
  return torch.layer_norm(p.input, p.normalized_shape, p.weight, p.bias, p.eps)
end)

---Normalizes groups of channels of (N, C, …). Arguments: input, num_groups, {weight (C), bias (C), eps = 1e-5}.
defined('group_norm', {'input', 'num_groups', {'weight'}, {'bias'}, {'eps', 1e-5}}, function(p)
  return torch.group_norm(p.input, p.num_groups, p.weight, p.bias, p.eps)
end)

---x / max(‖x‖_p, eps) along dim. Arguments: input, p = 2, dim = 1, eps = 1e-12.
defined('normalize', {'input', {'p', 2}, {'dim', 1}, {'eps', 1e-12}}, function(a)
  local norm = a.input:norm(a.p, {a.dim}, true):clamp_min(a.eps)
  return a.input / norm:expand_as(a.input)
end)

local REDUCTIONS = {none = 0, mean = 1, sum = 2}

-- ATen's number for a reduction.
local function reduction_of(p, name)
  return REDUCTIONS[args.one_of(name .. ': reduction', p.reduction, {'mean', 'none', 'sum'})]
end

local function loss(name, parameters, fn)
  local all = {'input', 'target'}
  for _, parameter in ipairs(parameters) do all[#all + 1] = parameter end
  all[#all + 1] = {'reduction', 'mean'}
  defined(name, all, function(p) return fn(p, reduction_of(p, name)) end)
end

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
loss('cross_entropy', {{'weight'}, {'ignore_index', -100}, {'label_smoothing', 0}}, function(p, reduction)
  return torch.cross_entropy_loss(p.input, p.target, p.weight, reduction, p.ignore_index, p.label_smoothing)
end)

---Negative log likelihood of log-probabilities (N, C, …) and class indices (N, …) int64. Arguments: input, target,
---{weight (C), ignore_index = -100, reduction = 'mean'}.
loss('nll_loss', {{'weight'}, {'ignore_index', -100}}, function(p, reduction)
  return torch.nll_loss_nd(p.input, p.target, p.weight, reduction, p.ignore_index)
end)

---(x - y)². Arguments: input, target of the same shape, {reduction = 'mean' | 'sum' | 'none'}.
loss('mse_loss', {}, function(p, reduction) return torch.mse_loss(p.input, p.target, reduction) end)
---|x - y|; arguments as mse_loss.
loss('l1_loss', {}, function(p, reduction) return torch.l1_loss(p.input, p.target, reduction) end)
---(x - y)² / (2 · beta) where |x - y| < beta, else |x - y| - beta / 2. Arguments: input, target, {beta = 1, reduction}.
loss('smooth_l1_loss', {{'beta', 1}}, function(p, reduction)
  return torch.smooth_l1_loss(p.input, p.target, reduction, p.beta)
end)
---(x - y)² / 2 where |x - y| ≤ delta, else delta · (|x - y| - delta / 2). Arguments: input, target, {delta = 1, reduction}.
loss('huber_loss', {{'delta', 1}}, function(p, reduction)
  return torch.huber_loss(p.input, p.target, reduction, p.delta)
end)
---Cross entropy of probabilities in 0 … 1 with targets in 0 … 1. Arguments: input, target, {weight, reduction}.
loss('binary_cross_entropy', {{'weight'}}, function(p, reduction)
  return torch.binary_cross_entropy(p.input, p.target, p.weight, reduction)
end)
---The same of sigmoid(input), computed stably. Arguments: input, target, {weight, pos_weight (C), reduction}.
loss('binary_cross_entropy_with_logits', {{'weight'}, {'pos_weight'}}, function(p, reduction)
  return torch.binary_cross_entropy_with_logits(p.input, p.target, p.weight, p.pos_weight, reduction)
end)

---Kullback-Leibler divergence. Arguments: input (log-probabilities), target, {reduction = 'mean' | 'batchmean' |
---'sum' | 'none', log_target = false}.
defined('kl_div', {'input', 'target', {'reduction', 'mean'}, {'log_target', false}}, function(p)
  local by_batch = p.reduction == 'batchmean'
  local reduction = by_batch and REDUCTIONS.sum or reduction_of(p, 'kl_div')
  local out = torch.kl_div(p.input, p.target, reduction, {log_target = p.log_target})
  return by_batch and p.input:dim() > 0 and out / p.input:size(0) or out
end)

local names = {}
for name in next, F do names[#names + 1] = name end
for name in next, is_same do names[#names + 1] = name end
table.sort(names)

return setmetatable(F, {
  __index = function(self, name)
    if not is_same[name] then
      args.no_such('torch.nn.functional', name, names)
    end
    rawset(self, name, torch[RENAMED[name] or name])
    return self[name]
  end,
})
