-- torch/autograd.lua: torch.autograd.

local autograd = {}

---Adds to `.grad` of the leaves what the sum of the tensors' gradients gives.
---@param tensors any one tensor or a list
---@param grads? any gradient of each (needed unless it has one element)
---@param options? {retain_graph: boolean, create_graph: boolean, inputs: any[]}
function autograd.backward(tensors, grads, options) return require('torch._C').backward(tensors, grads, options) end

---Gradients of outputs by inputs, without touching `.grad`.
---@param outputs any one tensor or a list
---@param inputs any one tensor or a list
---@param ... any as torch.autograd.grad
---@return any grads
function autograd.grad(outputs, inputs, ...) return require('torch._C').grad(outputs, inputs, ...) end

return autograd
