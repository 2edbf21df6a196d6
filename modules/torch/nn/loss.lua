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
local CrossEntropyLoss = loss_class('CrossEntropyLoss', 'cross_entropy',
  {{'weight'}, {'ignore_index', -100}, REDUCTION, {'label_smoothing', 0}})

---Negative log likelihood of log-probabilities (N, C, …). Arguments: {weight (C), ignore_index = -100, reduction =
---'mean'}.
---@class nn.NLLLoss: nn.Module
local NLLLoss = loss_class('NLLLoss', 'nll_loss', {{'weight'}, {'ignore_index', -100}, REDUCTION})

---Mean of (x - y)². Arguments: {reduction = 'mean'}.
---@class nn.MSELoss: nn.Module
local MSELoss = loss_class('MSELoss', 'mse_loss', {REDUCTION})

---Kullback-Leibler divergence of log-probabilities. Arguments: {reduction = 'mean' (or 'batchmean'), log_target =
---false}.
---@class nn.KLDivLoss: nn.Module
local KLDivLoss = loss_class('KLDivLoss', 'kl_div', {REDUCTION, {'log_target', false}}, 'batchmean')

return {
  CrossEntropyLoss = CrossEntropyLoss, NLLLoss = NLLLoss, MSELoss = MSELoss, KLDivLoss = KLDivLoss,
  L1Loss = loss_class('L1Loss', 'l1_loss', {REDUCTION}),
  SmoothL1Loss = loss_class('SmoothL1Loss', 'smooth_l1_loss', {REDUCTION, {'beta', 1}}),
  HuberLoss = loss_class('HuberLoss', 'huber_loss', {REDUCTION, {'delta', 1}}),
  BCELoss = loss_class('BCELoss', 'binary_cross_entropy', {{'weight'}, REDUCTION}),
  BCEWithLogitsLoss = loss_class('BCEWithLogitsLoss', 'binary_cross_entropy_with_logits',
    {{'weight'}, REDUCTION, {'pos_weight'}}),
}
