-- torch/nn/loss.lua: losses as modules: each calls its function in torch.nn.functional with its fields.
--
-- `reduction` is 'mean', 'sum' or 'none'; Python's deprecated size_average and reduce are not supported.

local args = require 'base.args'
local inputs = require 'torch.nn.inputs'
local Module = require('torch.nn.module').Module
local F = require 'torch.nn.functional'

local REDUCTIONS = {'mean', 'none', 'sum'}

local PAIR = {'input', 'target'}

-- Creates a class that calls F[fn](tensors…, options). Tensors among the options (class weights) become buffers, so
-- that `to` moves them. `taken`: the inputs of forward, PAIR by default.
local function loss_class(name, fn, parameters, reductions, taken)
  local Loss = Module:extend(name)
  local signature, take = args.signature(name, parameters), inputs(taken or PAIR)

  function Loss:init(...)
    local bound = signature:bind(...)
    args.one_of(name .. ': reduction', bound.reduction, reductions or REDUCTIONS)
    for _, field in ipairs(signature.names) do
      local value = bound[field]
      if field == 'weight' or field == 'pos_weight' then self:register_buffer(field, value) else self[field] = value end
    end
  end

  function Loss:forward(...)
    local given, options = {take(self, ...)}, {}
    for _, field in ipairs(signature.names) do options[field] = self[field] end
    given[#given + 1] = options
    return F[fn](unpack(given))
  end
  return Loss
end

local REDUCTION = {'reduction', 'mean'}
local RANKED, TRIPLET = {'input1', 'input2', 'target'}, {'anchor', 'positive', 'negative'}

---Cross entropy of logits (N, C, …) float with class indices (N, …) int64, or probabilities (N, C, …). Arguments:
---{weight (C), ignore_index = -100, reduction = 'mean', label_smoothing = 0}.
---
---```lua
---local torch = require 'torch'
---local loss = torch.nn.CrossEntropyLoss()
---local value = loss(torch.zeros(2, 10), torch.tensor({3, 7}, {dtype = torch.int64}))
---assert(math.abs(value:item() - math.log(10)) < 1e-6)
---```
---@class nn.CrossEntropyLoss: nn.Module
---@overload fun(options?: table): nn.CrossEntropyLoss
local CrossEntropyLoss = loss_class('CrossEntropyLoss', 'cross_entropy',
  {{'weight'}, {'ignore_index', -100}, REDUCTION, {'label_smoothing', 0}})

---Negative log likelihood of log-probabilities (N, C, …). Arguments: {weight (C), ignore_index = -100, reduction =
---'mean'}.
---@class nn.NLLLoss: nn.Module
---@overload fun(options?: table): nn.NLLLoss
local NLLLoss = loss_class('NLLLoss', 'nll_loss', {{'weight'}, {'ignore_index', -100}, REDUCTION})

---Mean of (x - y)². Arguments: {reduction = 'mean'}. Shape: (…), (…) → (), with reduction = 'none' (…).
---@class nn.MSELoss: nn.Module
---@overload fun(options?: {reduction: string}): nn.MSELoss
local MSELoss = loss_class('MSELoss', 'mse_loss', {REDUCTION})

---Kullback-Leibler divergence of log-probabilities. Arguments: {reduction = 'mean' (or 'batchmean'), log_target =
---false}. Shape: (…), (…) → (), with reduction = 'none' (…).
---@class nn.KLDivLoss: nn.Module
---@overload fun(options?: {reduction: string, log_target: boolean}): nn.KLDivLoss
local KLDivLoss = loss_class('KLDivLoss', 'kl_div', {REDUCTION, {'log_target', false}},
  {'batchmean', 'mean', 'none', 'sum'})

---Mean of |x - y|. Arguments: {reduction = 'mean'}. Shape: (…), (…) → (), with reduction = 'none' (…).
---@class nn.L1Loss: nn.Module
---@overload fun(options?: {reduction: string}): nn.L1Loss
local L1Loss = loss_class('L1Loss', 'l1_loss', {REDUCTION})

---(x - y)² / (2 · beta) where |x - y| < beta, else |x - y| - beta / 2. Arguments: {reduction = 'mean', beta = 1}.
---Shape: (…), (…) → (), with reduction = 'none' (…).
---@class nn.SmoothL1Loss: nn.Module
---@overload fun(options?: {reduction: string, beta: number}): nn.SmoothL1Loss
local SmoothL1Loss = loss_class('SmoothL1Loss', 'smooth_l1_loss', {REDUCTION, {'beta', 1}})

---(x - y)² / 2 where |x - y| ≤ delta, else delta · (|x - y| - delta / 2) (Huber 1964). Arguments: {reduction = 'mean',
---delta = 1}. Shape: (…), (…) → (), with reduction = 'none' (…).
---@class nn.HuberLoss: nn.Module
---@overload fun(options?: {reduction: string, delta: number}): nn.HuberLoss
local HuberLoss = loss_class('HuberLoss', 'huber_loss', {REDUCTION, {'delta', 1}})

---Cross entropy of probabilities in 0 … 1 with targets in 0 … 1 of the same shape. Arguments: {weight, reduction =
---'mean'}.
---@class nn.BCELoss: nn.Module
---@overload fun(options?: table): nn.BCELoss
local BCELoss = loss_class('BCELoss', 'binary_cross_entropy', {{'weight'}, REDUCTION})

---BCELoss of sigmoid(x), computed stably. Arguments: {weight, reduction = 'mean', pos_weight (C)}.
---Shape: (…), (…) → (), with reduction = 'none' (…).
---@class nn.BCEWithLogitsLoss: nn.Module
---@overload fun(options?: table): nn.BCEWithLogitsLoss
local BCEWithLogitsLoss = loss_class('BCEWithLogitsLoss', 'binary_cross_entropy_with_logits',
  {{'weight'}, REDUCTION, {'pos_weight'}})

---Connectionist temporal classification (Graves et al. 2006): forward(log_probs (T, N, C), targets (N, S) or
---concatenated, input_lengths (N), target_lengths (N)). Arguments: {blank = 0, reduction = 'mean', zero_infinity =
---false}.
---
---```lua
---local torch = require 'torch'
---local log_probs = torch.zeros(4, 1, 3):log_softmax(2)
---local loss = torch.nn.CTCLoss()(log_probs, torch.tensor({{1, 2}}, {dtype = torch.int64}), {4}, {2})
---assert(loss:item() > 0)
---```
---@class nn.CTCLoss: nn.Module
---@overload fun(options?: table): nn.CTCLoss
local CTCLoss = loss_class('CTCLoss', 'ctc_loss', {{'blank', 0}, REDUCTION, {'zero_infinity', false}}, REDUCTIONS,
  {'log_probs', 'targets', 'input_lengths', 'target_lengths'})

---Negative log likelihood of counts under a Poisson distribution: forward(log of the mean, target). Arguments:
---{log_input = true, full = false, eps = 1e-8, reduction = 'mean'}.
---@class nn.PoissonNLLLoss: nn.Module
---@overload fun(options?: table): nn.PoissonNLLLoss
local PoissonNLLLoss = loss_class('PoissonNLLLoss', 'poisson_nll_loss',
  {{'log_input', true}, {'full', false}, {'eps', 1e-8}, REDUCTION}, REDUCTIONS, {'log_input', 'target'})

---Negative log likelihood under normal distributions: forward(mean, target, variance). Arguments: {full = false, eps =
---1e-6, reduction = 'mean'}.
---@class nn.GaussianNLLLoss: nn.Module
---@overload fun(options?: table): nn.GaussianNLLLoss
local GaussianNLLLoss = loss_class('GaussianNLLLoss', 'gaussian_nll_loss', {{'full', false}, {'eps', 1e-6}, REDUCTION},
  REDUCTIONS, {'input', 'target', 'var'})

---x where y = 1, max(0, margin - x) where y = -1. Arguments: {margin = 1, reduction = 'mean'}.
---@class nn.HingeEmbeddingLoss: nn.Module
---@overload fun(margin?: number, options?: table): nn.HingeEmbeddingLoss
local HingeEmbeddingLoss = loss_class('HingeEmbeddingLoss', 'hinge_embedding_loss', {{'margin', 1}, REDUCTION})

---log(1 + exp(-y · x)). Arguments: {reduction = 'mean'}. Shape: (…), (…) → (), with reduction = 'none' (…).
---@class nn.SoftMarginLoss: nn.Module
---@overload fun(options?: {reduction: string}): nn.SoftMarginLoss
local SoftMarginLoss = loss_class('SoftMarginLoss', 'soft_margin_loss', {REDUCTION})

---Σ max(0, margin - x[y] + x[i])ᵖ / C over i ≠ y. Arguments: {p = 1, margin = 1, weight (C), reduction = 'mean'}.
---Shape: (N, C), (N) → (), with reduction = 'none' (N).
---@class nn.MultiMarginLoss: nn.Module
---@overload fun(p?: integer, margin?: number, options?: table): nn.MultiMarginLoss
local MultiMarginLoss = loss_class('MultiMarginLoss', 'multi_margin_loss',
  {{'p', 1}, {'margin', 1}, {'weight'}, REDUCTION})

---Σ max(0, 1 - (x[y[j]] - x[i])) / C; the target lists the classes, then -1. Arguments: {reduction = 'mean'}.
---Shape: (N, C), (N, C) → (), with reduction = 'none' (N).
---@class nn.MultiLabelMarginLoss: nn.Module
---@overload fun(options?: {reduction: string}): nn.MultiLabelMarginLoss
local MultiLabelMarginLoss = loss_class('MultiLabelMarginLoss', 'multilabel_margin_loss', {REDUCTION})

---The mean over classes of the cross entropy of sigmoid(x) with y. Arguments: {weight (C), reduction = 'mean'}.
---Shape: (N, C), (N, C) → (), with reduction = 'none' (N).
---@class nn.MultiLabelSoftMarginLoss: nn.Module
---@overload fun(options?: table): nn.MultiLabelSoftMarginLoss
local MultiLabelSoftMarginLoss = loss_class('MultiLabelSoftMarginLoss', 'multilabel_soft_margin_loss',
  {{'weight'}, REDUCTION})

---forward(x1, x2, y): 1 - cos(x1, x2) where y = 1, max(0, cos(x1, x2) - margin) where y = -1. Arguments: {margin = 0,
---reduction = 'mean'}.
---@class nn.CosineEmbeddingLoss: nn.Module
---@overload fun(margin?: number, options?: table): nn.CosineEmbeddingLoss
local CosineEmbeddingLoss = loss_class('CosineEmbeddingLoss', 'cosine_embedding_loss', {{'margin', 0}, REDUCTION},
  REDUCTIONS, RANKED)

---forward(x1, x2, y): max(0, -y · (x1 - x2) + margin). Arguments: {margin = 0, reduction = 'mean'}.
---@class nn.MarginRankingLoss: nn.Module
---@overload fun(margin?: number, options?: table): nn.MarginRankingLoss
local MarginRankingLoss = loss_class('MarginRankingLoss', 'margin_ranking_loss', {{'margin', 0}, REDUCTION},
  REDUCTIONS, RANKED)

---forward(anchor, positive, negative): max(0, d(anchor, positive) - d(anchor, negative) + margin) with d the p-norm of
---the difference (Balntas et al. 2016). Arguments: {margin = 1, p = 2, eps = 1e-6, swap = false, reduction = 'mean'}.
---@class nn.TripletMarginLoss: nn.Module
---@overload fun(margin?: number, options?: table): nn.TripletMarginLoss
local TripletMarginLoss = loss_class('TripletMarginLoss', 'triplet_margin_loss',
  {{'margin', 1}, {'p', 2}, {'eps', 1e-6}, {'swap', false}, REDUCTION}, REDUCTIONS, TRIPLET)

---TripletMarginLoss with a custom distance. Arguments: {distance_function (default: pairwise_distance), margin = 1,
---swap = false, reduction = 'mean'}. Shape: (N, D) three times → (), with reduction = 'none' (N).
---
---```lua
---local torch = require 'torch'
---local loss = torch.nn.TripletMarginWithDistanceLoss{
---  distance_function = function(a, b) return 1 - torch.cosine_similarity(a, b) end}
---assert(loss(torch.ones(1, 2), torch.ones(1, 2), -torch.ones(1, 2)):item() == 0)
---```
---@class nn.TripletMarginWithDistanceLoss: nn.Module
---@overload fun(options?: table): nn.TripletMarginWithDistanceLoss
local TripletMarginWithDistanceLoss = loss_class('TripletMarginWithDistanceLoss', 'triplet_margin_with_distance_loss',
  {{'distance_function'}, {'margin', 1}, {'swap', false}, REDUCTION}, REDUCTIONS, TRIPLET)

local set_up_with_distance = TripletMarginWithDistanceLoss.init

function TripletMarginWithDistanceLoss:init(...)
  set_up_with_distance(self, ...)
  self.distance_function = self.distance_function or require('torch.nn.distance').PairwiseDistance()
end

return {
  CrossEntropyLoss = CrossEntropyLoss, NLLLoss = NLLLoss, MSELoss = MSELoss, KLDivLoss = KLDivLoss, L1Loss = L1Loss,
  SmoothL1Loss = SmoothL1Loss, HuberLoss = HuberLoss, BCELoss = BCELoss, BCEWithLogitsLoss = BCEWithLogitsLoss,
  CTCLoss = CTCLoss, PoissonNLLLoss = PoissonNLLLoss, GaussianNLLLoss = GaussianNLLLoss,
  HingeEmbeddingLoss = HingeEmbeddingLoss, SoftMarginLoss = SoftMarginLoss, MultiMarginLoss = MultiMarginLoss,
  MultiLabelMarginLoss = MultiLabelMarginLoss, MultiLabelSoftMarginLoss = MultiLabelSoftMarginLoss,
  CosineEmbeddingLoss = CosineEmbeddingLoss, MarginRankingLoss = MarginRankingLoss,
  TripletMarginLoss = TripletMarginLoss, TripletMarginWithDistanceLoss = TripletMarginWithDistanceLoss,
}
