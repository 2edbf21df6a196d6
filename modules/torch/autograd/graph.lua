-- torch/autograd/graph.lua: torch.autograd.graph: how tensors are saved for the backward pass.

local args = require 'base.args'

local graph = {}

---Calls fn. For each tensor that an operation in fn saves for backward, the result of `pack` is kept; `unpack` converts
---it back to the tensor. PyTorch equivalent: torch.autograd.graph.saved_tensors_hooks.
---@param pack fun(x: torch.Tensor): any
---@param unpack fun(packed: any): torch.Tensor same shape and dtype as x
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(3, {requires_grad = true})
---local halved = torch.autograd.graph.saved_tensors_hooks(
---  function(t) return t:to('bfloat16') end,
---  function(t) return t:to('float32') end,
---  function() return (x * x):sum() end)
---halved:backward()
---assert(x.grad:sum():item() == 6)
---```
function graph.saved_tensors_hooks(pack, unpack, fn, ...)
  return require('torch._C').saved_tensors_hooks(pack, unpack, fn, ...)
end

---Calls fn; the tensors that its operations save for backward are kept in CPU memory, and are copied back to their
---device when they are needed.
---@param fn fun(...): ...
---@param ... any arguments of fn, then {pin_memory = false}
---@return any ... the results of fn
function graph.save_on_cpu(fn, ...)
  local options, count = args.trailing('save_on_cpu', {'pin_memory'}, ...)
  local function pack(x)
    local copy = x:to('cpu')
    if options.pin_memory then copy = copy:pin_memory() end
    return {device = x.device, tensor = copy}
  end
  local function unpack_packed(packed) return packed.tensor:to(packed.device) end
  return graph.saved_tensors_hooks(pack, unpack_packed, fn, unpack({...}, 1, count))
end

---Calls fn; registering a hook for saved tensors in it raises an error with this message.
---@param message string
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return any ... the results of fn
function graph.disable_saved_tensors_hooks(message, fn, ...)
  return require('torch._C').disable_saved_tensors_hooks(message, fn, ...)
end

return require 'base.namespace'('torch.autograd.graph', {
  absent = {Node = 'x.grad_fn is the name of the node', register_multi_grad_hook = 'use x:register_hook on each tensor',
           GradientEdge = true, get_gradient_edge = true, allow_mutation_on_saved_tensors = 'clone before the change'},
}, graph)
