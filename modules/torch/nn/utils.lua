-- torch/nn/utils.lua: torch.nn.utils: clipping of gradients, parameters as one vector.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local torch = require 'torch'

local utils = {}

local function grads_of(parameters)
  local list = type(parameters) == 'table' and parameters or {parameters}
  local grads = {}
  for _, param in ipairs(list) do
    if param.grad ~= nil then grads[#grads + 1] = param.grad:detach() end
  end
  return grads
end

local norm_signature = args.signature('clip_grad_norm_', {'parameters', 'max_norm', {'norm_type', 2},
  {'error_if_nonfinite', false}})

---Scales the gradients so that their norm, all taken as one vector, is at most max_norm. Arguments: parameters (a
---list or one tensor), max_norm, {norm_type = 2, error_if_nonfinite = false}.
---@param ... any
---@return torch.Tensor total_norm () before clipping
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(4, {requires_grad = true})
---torch.sum(x * 3):backward()
---assert(torch.nn.utils.clip_grad_norm_({x}, 1):item() == 6)
---assert(math.abs(x.grad:norm():item() - 1) < 1e-5)
---```
function utils.clip_grad_norm_(...)
  local p = norm_signature:bind(...)
  local grads = grads_of(p.parameters)
  if #grads == 0 then return torch.tensor(0) end
  return torch.no_grad(function()
    local norms = torch._foreach_norm(grads, p.norm_type)
    local total = torch.linalg_vector_norm(torch.stack(norms), p.norm_type)
    if p.error_if_nonfinite and total:isfinite():item() == false then
      errors.raise('argument', 'clip_grad_norm_: the total norm of the gradients is ' .. tostring(total:item()))
    end
    torch._foreach_mul_(grads, (p.max_norm / (total + 1e-6)):clamp({max = 1}))
    return total
  end)
end

---Clips every element of the gradients to [-clip_value, clip_value].
---@param parameters torch.Tensor[]|torch.Tensor
---@param clip_value number
function utils.clip_grad_value_(parameters, clip_value)
  torch.no_grad(function()
    for _, grad in ipairs(grads_of(parameters)) do grad:clamp_(-clip_value, clip_value) end
  end)
end

---All parameters in one vector.
---@param parameters torch.Tensor[]
---@return torch.Tensor vector (number of elements of all)
function utils.parameters_to_vector(parameters)
  local parts = {}
  for i, param in ipairs(parameters) do parts[i] = param:reshape(-1) end
  return torch.cat(parts)
end

---Copies a vector into the parameters.
---@param vector torch.Tensor
---@param parameters torch.Tensor[]
function utils.vector_to_parameters(vector, parameters)
  torch.no_grad(function()
    local start = 0
    for _, param in ipairs(parameters) do
      local count = param:numel()
      param:copy_(vector:narrow(0, start, count):view_as(param))
      start = start + count
    end
  end)
end

return require 'rtrain.namespace'('torch.nn.utils', nil, utils)
