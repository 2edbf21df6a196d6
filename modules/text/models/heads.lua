-- text/models/heads.lua: losses of models with a head: of tokens that were hidden, and of whole texts.

local errors = require 'base.errors'
local torch = require 'torch'
local F = torch.nn.functional

local heads = {}

---The number of labels of a config.
---@param config table
---@return integer
function heads.num_labels(config)
  if config.num_labels then return config.num_labels end
  local count = 0
  for _ in pairs(config.id2label or {}) do count = count + 1 end
  return count > 0 and count or 2
end

---The cross entropy of each token, without a shift; labels of -100 do not count.
---@param logits torch.Tensor (n, tokens, classes)
---@param labels torch.Tensor int64, (n, tokens)
---@return torch.Tensor
function heads.token_loss(logits, labels)
  return F.cross_entropy(logits:reshape(-1, logits.shape[3]), labels:reshape(-1))
end

---The loss of logits (n, labels) as the config's problem_type says, or as the labels are: 'regression' (one number a text),
---'single_label_classification' (int64, (n)), 'multi_label_classification' (floating point, (n, labels)).
---@param logits torch.Tensor
---@param labels torch.Tensor
---@param config table
---@return torch.Tensor
function heads.text_loss(logits, labels, config)
  local kind = config.problem_type
  if not kind then
    kind = logits.shape[2] == 1 and 'regression' or labels:is_floating_point() and 'multi_label_classification'
      or 'single_label_classification'
  end
  if kind == 'regression' then
    if logits.shape[2] == 1 then return F.mse_loss(logits:squeeze(1), labels:reshape(-1):to(logits.dtype)) end
    return F.mse_loss(logits, labels)
  end
  if kind == 'single_label_classification' then return F.cross_entropy(logits, labels:reshape(-1)) end
  if kind == 'multi_label_classification' then return F.binary_cross_entropy_with_logits(logits, labels) end
  errors.raise('argument', ("config.json: problem_type = '%s'"):format(tostring(kind)))
end

return heads
