-- torch/autograd.lua: torch.autograd.

local autograd = {}

---Adds to `.grad` of the leaves what the sum of the tensors' gradients gives. Counterpart: torch.autograd.backward.
---@param tensors torch.Tensor|torch.Tensor[]
---@param grads? torch.Tensor|torch.Tensor[] gradient of each (needed unless it has one element)
---@param options? {retain_graph: boolean, create_graph: boolean, inputs: any[]}
function autograd.backward(tensors, grads, options) return require('torch._C').backward(tensors, grads, options) end

---Gradients of outputs by inputs, without touching `.grad`. Counterpart: torch.autograd.grad.
---@param outputs torch.Tensor|torch.Tensor[]
---@param inputs torch.Tensor|torch.Tensor[]
---@param ... any grad_outputs, {retain_graph, create_graph, allow_unused}
---@return torch.Tensor[] grads one for each input; with allow_unused torch.none for those that the outputs do not depend on
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor(3, {requires_grad = true})
---local grads = torch.autograd.grad(x * x, x)
---assert(grads[1]:item() == 6 and x.grad == nil)
---```
function autograd.grad(outputs, inputs, ...) return require('torch._C').grad(outputs, inputs, ...) end

return autograd
