-- torch/nn/parameter.lua: parameters and buffers: tensors that a module registers when they are assigned to it.

local args = require 'base.args'
local capture = require 'torch.cuda.capture'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

local parameter = {}

-- Tensors have no mark of a parameter. A tensor has a single userdata as long as it is referenced, so the userdata is
-- the key.
local is_parameter = setmetatable({}, {__mode = 'k'})
local has_fixed_grad = setmetatable({}, {__mode = 'k'})
-- Tensor → whether the buffer is part of state_dict.
local persistence = setmetatable({}, {__mode = 'k'})

local signature = args.signature('Parameter', {'data', {'requires_grad', true}})

---Makes a leaf tensor that shares data with `data` and that a module registers as a parameter. Arguments: data,
---requires_grad = true.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local Scale = nn.Module:extend('Scale')
---function Scale:init() self.factor = nn.Parameter(torch.ones(1)) end
---assert(#Scale():parameters() == 1)
---```
function parameter.Parameter(...)
  local p = signature:bind(...)
  local leaf = p.data:detach()
  leaf.requires_grad = p.requires_grad
  is_parameter[leaf] = true
  return leaf
end

---Marks a tensor that a module has among its parameters: the mark is not sent to other processes.
---@param value torch.Tensor
function parameter.adopt(value) is_parameter[value] = true end

---Returns whether the value is a parameter.
---@param value any
---@return boolean
function parameter.is_parameter(value) return value ~= nil and is_parameter[value] == true end

local buffer_signature = args.signature('Buffer', {'data', {'persistent', true}})

---Makes a tensor that a module registers as a buffer. Arguments: data, {persistent = true (part of state_dict)}.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local Counter = nn.Module:extend('Counter')
---function Counter:init() self.count = nn.Buffer(torch.zeros(1)) end
---assert(Counter():state_dict().count:item() == 0)
---```
function parameter.Buffer(...)
  local p = buffer_signature:bind(...)
  local tensor = p.data:detach()
  persistence[tensor] = p.persistent
  return tensor
end

---Returns whether the value is a result of Buffer.
---@param value any
---@return boolean
function parameter.is_buffer(value) return value ~= nil and persistence[value] ~= nil end

---Returns whether the buffer is part of state_dict.
---@param value torch.Tensor
---@return boolean
function parameter.is_persistent(value) return persistence[value] end

---Records that the parameter's gradient is a view into a bucket of DistributedDataParallel: zero_grad then zeroes it in
---place, since dropping it would lose the view.
---@param param torch.Tensor
function parameter.fix_grad(param) has_fixed_grad[param] = true end

-- Returns whether the gradient may be dropped: a captured graph keeps writing to the gradients of its capture. During a
-- capture a gradient may be dropped: the graph then makes a new one.
local function may_drop(param)
  if has_fixed_grad[param] then return false end
  return not capture.has_graphs or capture.is_capturing() or not param.is_cuda
end

---Drops the gradients; sets them to zero if that is requested or the gradient is fixed.
---@param params torch.Tensor[]
---@param set_to_none boolean
function parameter.zero_grads(params, set_to_none)
  local zeroed = {}
  virtual_ranks.note_zeroed(params)
  for _, param in ipairs(params) do
    local grad = param.grad
    if grad ~= nil then
      if set_to_none and may_drop(param) then
        param.grad = nil
        grad:release()  -- no other code has this handle; the collector would come too late
      else
        zeroed[#zeroed + 1] = grad:detach()
      end
    end
  end
  if #zeroed > 0 then require('torch')._foreach_zero_(zeroed) end
end

return parameter
