-- torch/nn/utils/clip_grad.lua: clips gradients.

local args = require 'base.args'
local errors = require 'base.errors'
local parameter_list = require 'torch.nn.utils.parameter_list'
local torch = require 'torch'

local clip = {}
local defined = args.definer(clip)

local function grads_of(parameters, name)
  local grads = {}
  for _, param in ipairs(parameter_list(parameters, name)) do
    if param.grad ~= nil then grads[#grads + 1] = param.grad:detach() end
  end
  return grads
end

local function norms_of(tensors, p)
  if p.foreach ~= false then return torch._foreach_norm(tensors, p.norm_type) end
  local norms = {}
  for i, tensor in ipairs(tensors) do norms[i] = torch.linalg_vector_norm(tensor, p.norm_type) end
  return norms
end

-- Returns the norm of all tensors, as if they were one vector.
local function total_norm(tensors, p, name)
  if #tensors == 0 then return torch.tensor(0) end
  local norms, device = norms_of(tensors, p), tensors[1].device
  for i, norm in ipairs(norms) do
    if norm.device ~= device then norms[i] = norm:to{device = device} end
  end
  local total = torch.linalg_vector_norm(torch.stack(norms), p.norm_type)
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
  return torch.no_grad(total_norm, parameter_list(p.tensors, 'get_total_norm'), p, 'get_total_norm')
end)

---Scales gradients whose norm is known, so that it is at most max_norm. Arguments: parameters (a list or one tensor),
---max_norm, total_norm, {foreach}.
defined('clip_grads_with_norm_', {'parameters', 'max_norm', 'total_norm', {'foreach'}}, function(p)
  torch.no_grad(scale, grads_of(p.parameters, 'clip_grads_with_norm_'), p, p.total_norm)
end)

---Scales the gradients so that their norm as one vector is at most max_norm, and returns the norm () before
---clipping. Arguments: parameters (a list or one tensor), max_norm, {norm_type = 2, error_if_nonfinite = false, foreach
---(false: one operation for each tensor)}.
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(4, {requires_grad = true})
---torch.sum(x * 3):backward()
---assert(torch.nn.utils.clip_grad_norm_({x}, 1):item() == 6)
---assert(math.abs(x.grad:norm():item() - 1) < 1e-5)
---```
defined('clip_grad_norm_', {'parameters', 'max_norm', unpack(NORM)}, function(p)
  local grads = grads_of(p.parameters, 'clip_grad_norm_')
  return torch.no_grad(function()
    local total = total_norm(grads, p, 'clip_grad_norm_')
    scale(grads, p, total)
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
