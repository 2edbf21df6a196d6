-- torch/nn/utils/clip_grad.lua: clips gradients.

local args = require 'base.args'
local errors = require 'base.errors'
local parameter_list = require 'torch.nn.utils.parameter_list'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

local clip = {}
local defined = args.definer(clip)

-- Returns the gradients, and what each is a part of if it is sharded, by its index.
local function grads_of(parameters, name)
  local grads, places = {}, {}
  for _, param in ipairs(parameter_list(parameters, name)) do
    local grad = param.grad
    if grad ~= nil then
      grads[#grads + 1], places[#grads + 1] = grad:detach(), shards.of(grad)
    end
  end
  return grads, places
end

local function norms_of(tensors, p)
  if p.foreach ~= false then return torch._foreach_norm(tensors, p.norm_type) end
  local norms = {}
  for i, tensor in ipairs(tensors) do norms[i] = torch.linalg_vector_norm(tensor, p.norm_type) end
  return norms
end

-- Returns the norm of norms, as if their tensors were one vector.
local function norm_of(norms, p)
  local device = norms[1].device
  for i, norm in ipairs(norms) do
    if norm.device ~= device then norms[i] = norm:to{device = device} end
  end
  return torch.linalg_vector_norm(torch.stack(norms), p.norm_type)
end

-- Combines the norm of this rank's rows with those of the other ranks.
local function norm_of_ranks(norm, p, shard)
  local is_largest = p.norm_type == math.huge
  local power = is_largest and norm or norm:pow(p.norm_type)
  shards.all_reduce(power, is_largest and 'max' or 'sum', shard)
  return is_largest and power or power:pow(1 / p.norm_type)
end

-- Returns the lists of norms by the ranks that divide the tensors: first those of tensors that are whole.
local function norms_by_ranks(norms, places)
  local lists, index_of = {{norms = {}}}, {}
  for i, norm in ipairs(norms) do
    local shard, index = places[i], 1
    if shard then
      local ranks = shards.ranks_of(shard)
      index = index_of[ranks] or #lists + 1
      index_of[ranks] = index
      lists[index] = lists[index] or {norms = {}, shard = shard}
    end
    table.insert(lists[index].norms, norm)
  end
  return lists
end

-- Returns the norm of all tensors, as if they were one vector.
local function total_norm(tensors, p, name, places)
  if #tensors == 0 then return torch.tensor(0) end
  local norms, parts = shards.with_rows(norms_of, tensors, p), {}
  for _, list in ipairs(norms_by_ranks(norms, places or {})) do
    if #list.norms > 0 then
      local norm = norm_of(list.norms, p)
      parts[#parts + 1] = list.shard and norm_of_ranks(norm, p, list.shard) or norm
    end
  end
  local total = #parts == 1 and parts[1] or norm_of(parts, p)
  if p.error_if_nonfinite and not total:isfinite():item() then
    errors.raise('argument', ('%s: the total norm of order %s is %s; error_if_nonfinite = false scales by it anyway'):format(
      name, tostring(p.norm_type), tostring(total:item())))
  end
  return total
end

local function scale(grads, p, total)
  if #grads == 0 then return end
  local factor = (p.max_norm / (total + 1e-6)):clamp({max = 1})
  if p.foreach ~= false then return torch._foreach_mul_(grads, factor) end
  for _, grad in ipairs(grads) do grad:mul_(factor) end
end

local NORM = {{'norm_type', 2}, {'error_if_nonfinite', false}, {'foreach'}}

---Returns the norm of all tensors as one vector. Arguments: tensors (a list or one), {norm_type = 2 (math.huge: the
---largest value), error_if_nonfinite = false, foreach}.
defined('get_total_norm', {'tensors', unpack(NORM)}, function(p)
  local tensors, places = parameter_list(p.tensors, 'get_total_norm'), {}
  for i, tensor in ipairs(tensors) do places[i] = shards.of(tensor) end
  return torch.no_grad(total_norm, tensors, p, 'get_total_norm', places)
end)

---Scales gradients whose norm is known, so that it is at most max_norm. Arguments: parameters (a list or one tensor),
---max_norm, total_norm, {foreach}.
defined('clip_grads_with_norm_', {'parameters', 'max_norm', 'total_norm', {'foreach'}}, function(p)
  torch.no_grad(scale, grads_of(p.parameters, 'clip_grads_with_norm_'), p, p.total_norm)
end)

---Scales the gradients so that their norm as one vector is at most max_norm, and returns the norm () before
---clipping. Arguments: parameters (a list or one tensor), max_norm, {norm_type = 2, error_if_nonfinite = false, foreach
---(false: one operation for each tensor)}. For sharded parameters the norm is that of all ranks' rows: every rank calls it.
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(4, {requires_grad = true})
---torch.sum(x * 3):backward()
---assert(torch.nn.utils.clip_grad_norm_({x}, 1):item() == 6)
---assert(math.abs(x.grad:norm():item() - 1) < 1e-5)
---```
defined('clip_grad_norm_', {'parameters', 'max_norm', unpack(NORM)}, function(p)
  local virtual = virtual_ranks.get()
  if virtual and virtual:is_held() then return virtual:later() end
  local grads, places = grads_of(p.parameters, 'clip_grad_norm_')
  return torch.no_grad(function()
    local total = total_norm(grads, p, 'clip_grad_norm_', places)
    scale(grads, p, total)
    if virtual then virtual:fill(total) end
    return total
  end)
end)

---Clips every element of the gradients to [-clip_value, clip_value]. Arguments: parameters (a list or one tensor),
---clip_value, {foreach}.
defined('clip_grad_value_', {'parameters', 'clip_value', {'foreach'}}, function(p)
  local grads, limit = grads_of(p.parameters, 'clip_grad_value_'), p.clip_value
  if #grads == 0 then return end
  torch.no_grad(function()
    if p.foreach ~= false then
      torch._foreach_clamp_min_(grads, -limit)
      torch._foreach_clamp_max_(grads, limit)
      return
    end
    for _, grad in ipairs(grads) do grad:clamp_(-limit, limit) end
  end)
end)

return clip
