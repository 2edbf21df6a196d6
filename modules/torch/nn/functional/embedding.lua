-- torch/nn/functional/embedding.lua: rows of a table by index, alone or reduced in bags.

local args = require 'base.args'
local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local embedding = {}
local defined = checks.definer(embedding)

-- Scales the rows of the indices down to max_norm, in place, as PyTorch does.
local function limit_norms(weight, indices, p)
  torch.no_grad(torch.embedding_renorm_, weight:detach(), indices:contiguous(), p.max_norm, p.norm_type)
end

local function row_of(padding_idx, rows)
  if padding_idx >= rows or padding_idx < -rows then
    errors.raise('argument', ('embedding: padding_idx = %d must be within num_embeddings = %d'):format(padding_idx, rows))
  end
  return padding_idx % rows
end

---Selects rows of `weight` (num_embeddings, dim) by int64 index. Arguments: input, weight, {padding_idx, max_norm,
---norm_type = 2, scale_grad_by_freq = false, sparse = false}.
defined('embedding', {'input', 'weight', {'padding_idx'}, {'max_norm'}, {'norm_type', 2}, {'scale_grad_by_freq', false},
                      {'sparse', false}}, function(p)
  local padding = p.padding_idx and row_of(p.padding_idx, p.weight:size(0)) or -1
  if p.max_norm then limit_norms(p.weight, p.input, p) end
  return torch.embedding(p.weight, p.input, padding, p.scale_grad_by_freq, p.sparse)
end)

local MODES = {sum = 0, mean = 1, max = 2}

local function check_bag(p)
  args.one_of('embedding_bag: mode', p.mode, {'max', 'mean', 'sum'})
  if p.mode == 'max' and (p.scale_grad_by_freq or p.sparse) then
    errors.raise('argument', "embedding_bag: mode = 'max' allows neither scale_grad_by_freq nor sparse")
  end
  if p.per_sample_weights == nil then return end
  if p.mode ~= 'sum' then
    errors.raise('argument', ("embedding_bag: per_sample_weights needs mode = 'sum', not '%s'"):format(p.mode))
  end
  if tostring(p.per_sample_weights.shape) ~= tostring(p.input.shape) then
    errors.raise('argument', ('embedding_bag: per_sample_weights %s must have the shape of input %s'):format(
      tostring(p.per_sample_weights.shape), tostring(p.input.shape)))
  end
end

-- Returns flat indices, offsets, flat weights, include_last_offset.
local function bags_of(p)
  local input, dims = p.input, p.input:dim()
  if dims == 1 and p.offsets ~= nil and p.offsets:dim() == 1 then
    return input, p.offsets, p.per_sample_weights, p.include_last_offset
  end
  if dims ~= 2 or p.offsets ~= nil then
    errors.raise('argument', dims == 2 and 'embedding_bag: offsets go with an input of 1 dimension'
      or ('embedding_bag: input has 2 dimensions, or 1 and offsets of 1 dimension; got %d dimensions'):format(dims))
  end
  local offsets = torch.arange(0, input:numel(), input:size(1), {dtype = input.dtype, device = input.device})
  return input:reshape(-1), offsets, p.per_sample_weights and p.per_sample_weights:reshape(-1), false
end

---Computes the sum, mean or maximum of the rows of each bag: (B, dim). Arguments: input (B, n), or (n) with offsets (B)
---where each bag begins; weight (num_embeddings, dim); {offsets, max_norm, norm_type = 2, scale_grad_by_freq = false,
---mode = 'mean' | 'sum' | 'max', sparse = false, per_sample_weights (shape of input), include_last_offset = false,
---padding_idx}.
defined('embedding_bag', {'input', 'weight', {'offsets'}, {'max_norm'}, {'norm_type', 2}, {'scale_grad_by_freq', false},
                          {'mode', 'mean'}, {'sparse', false}, {'per_sample_weights'}, {'include_last_offset', false},
                          {'padding_idx'}}, function(p)
  check_bag(p)
  local input, offsets, weights, include_last = bags_of(p)
  if p.max_norm then limit_norms(p.weight, input, p) end
  local out = torch.embedding_bag(p.weight, input, offsets, p.scale_grad_by_freq, MODES[p.mode], p.sparse, weights,
    include_last, p.padding_idx)
  return out
end)

return embedding
