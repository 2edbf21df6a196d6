-- torch/nn/loss.lua: losses as modules: the function of torch.nn.functional with its options as fields.

local args = require 'rtrain.args'
local Module = require('torch.nn.module').Module
local F = require 'torch.nn.functional'

-- Tensors among the options (class weights) become buffers, so that `to` moves them.
local function loss_class(name, fn, parameters, more_reductions)
  local Loss = Module:extend(name)
  local signature = args.signature(name, parameters)

  function Loss:init(...)
    local bound = signature:bind(...)
    args.one_of(name .. ': reduction', bound.reduction, {'mean', 'none', 'sum', more_reductions})
    for _, field in ipairs(signature.names) do
      local value = bound[field]
      if type(value) == 'userdata' then self:register_buffer(field, value) else self[field] = value end
    end
  end

  function Loss:forward(input, target)
    local options = {}
    for _, field in ipairs(signature.names) do options[field] = self[field] end
    return F[fn](input, target, options)
  end
  return Loss
end

local REDUCTION = {'reduction', 'mean'}

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

---Mean of (x - y)². Arguments: {reduction = 'mean'}.
---@class nn.MSELoss: nn.Module
---@overload fun(options?: {reduction: string}): nn.MSELoss
local MSELoss = loss_class('MSELoss', 'mse_loss', {REDUCTION})

---Kullback-Leibler divergence of log-probabilities. Arguments: {reduction = 'mean' (or 'batchmean'), log_target =
---false}.
---@class nn.KLDivLoss: nn.Module
---@overload fun(options?: {reduction: string, log_target: boolean}): nn.KLDivLoss
local KLDivLoss = loss_class('KLDivLoss', 'kl_div', {REDUCTION, {'log_target', false}}, 'batchmean')

---Mean of |x - y|. Arguments: {reduction = 'mean'}.
---@class nn.L1Loss: nn.Module
---@overload fun(options?: {reduction: string}): nn.L1Loss
local L1Loss = loss_class('L1Loss', 'l1_loss', {REDUCTION})

---(x - y)² / (2 · beta) where |x - y| < beta, else |x - y| - beta / 2. Arguments: {reduction = 'mean', beta = 1}.
---@class nn.SmoothL1Loss: nn.Module
---@overload fun(options?: {reduction: string, beta: number}): nn.SmoothL1Loss
local SmoothL1Loss = loss_class('SmoothL1Loss', 'smooth_l1_loss', {REDUCTION, {'beta', 1}})

---(x - y)² / 2 where |x - y| ≤ delta, else delta · (|x - y| - delta / 2) (Huber 1964). Arguments: {reduction = 'mean',
---delta = 1}.
---@class nn.HuberLoss: nn.Module
---@overload fun(options?: {reduction: string, delta: number}): nn.HuberLoss
local HuberLoss = loss_class('HuberLoss', 'huber_loss', {REDUCTION, {'delta', 1}})

---Cross entropy of probabilities in 0 … 1 with targets in 0 … 1 of the same shape. Arguments: {weight, reduction =
---'mean'}.
---@class nn.BCELoss: nn.Module
---@overload fun(options?: table): nn.BCELoss
local BCELoss = loss_class('BCELoss', 'binary_cross_entropy', {{'weight'}, REDUCTION})

---BCELoss of sigmoid(x), computed stably. Arguments: {weight, reduction = 'mean', pos_weight (C)}.
---@class nn.BCEWithLogitsLoss: nn.Module
---@overload fun(options?: table): nn.BCEWithLogitsLoss
local BCEWithLogitsLoss = loss_class('BCEWithLogitsLoss', 'binary_cross_entropy_with_logits',
  {{'weight'}, REDUCTION, {'pos_weight'}})

return {
  CrossEntropyLoss = CrossEntropyLoss, NLLLoss = NLLLoss, MSELoss = MSELoss, KLDivLoss = KLDivLoss, L1Loss = L1Loss,
  SmoothL1Loss = SmoothL1Loss, HuberLoss = HuberLoss, BCELoss = BCELoss, BCEWithLogitsLoss = BCEWithLogitsLoss,
}
