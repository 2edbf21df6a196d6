-- torch/nn/parameter.lua: parameters: tensors that a module registers when they are assigned to it.

local args = require 'rtrain.args'

local parameter = {}

-- A tensor carries no mark of its own; tensors have one userdata as long as somebody holds it.
local is_parameter = setmetatable({}, {__mode = 'k'})
local has_fixed_grad = setmetatable({}, {__mode = 'k'})

---A leaf tensor that shares data with `data` and that a module registers as a parameter.
---@param data torch.Tensor
---@param options? {requires_grad: boolean} default true
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local Scale = nn.Module:extend('Scale')
---function Scale:init() self.factor = nn.Parameter(torch.ones(1)) end
---assert(#Scale():parameters() == 1)
---```
function parameter.Parameter(data, options)
  options = args.options(options, {'requires_grad'}, 'Parameter')
  local leaf = data:detach()
  leaf.requires_grad = options.requires_grad ~= false
  is_parameter[leaf] = true
  return leaf
end

---Whether the value is a parameter.
---@param value any
---@return boolean
function parameter.is_parameter(value) return value ~= nil and is_parameter[value] == true end

---Says that the parameter's gradient is a view into a bucket of DistributedDataParallel: zero_grad then zeroes it in
---place, since dropping it would lose the view.
---@param param torch.Tensor
function parameter.fix_grad(param) has_fixed_grad[param] = true end

---Forgets the gradients, or sets them to zero where that is asked for or the gradient is fixed.
---@param params torch.Tensor[]
---@param set_to_none boolean
function parameter.zero_grads(params, set_to_none)
  local zeroed = {}
  for _, param in ipairs(params) do
    local grad = param.grad
    if grad ~= nil then
      if set_to_none and not has_fixed_grad[param] then
        param.grad = nil
      else
        zeroed[#zeroed + 1] = grad:detach()
      end
    end
  end
  if #zeroed > 0 then require('torch')._foreach_zero_(zeroed) end
end

return parameter
