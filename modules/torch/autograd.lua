-- torch/autograd.lua: torch.autograd.

local args = require 'base.args'

local autograd = {}

---Computes the gradients of the sum of the tensors and adds them to `.grad` of the leaves. PyTorch equivalent:
---torch.autograd.backward.
---@param tensors torch.Tensor|torch.Tensor[]
---@param grads? torch.Tensor|torch.Tensor[] gradient of each (needed unless it has one element)
---@param options? {retain_graph: boolean, create_graph: boolean, inputs: any[]}
function autograd.backward(tensors, grads, options) return require('torch._C').backward(tensors, grads, options) end

-- Runs one backward pass for all entries of the first dimension of grad_outputs.
local function batched_grad(outputs, inputs, ...)
  local given, options = {...}, {}
  for name, value in next, table.remove(given) do options[name] = value end
  local is_batched = options.is_grads_batched
  local weights = given[1] or options.grad_outputs
  options.is_grads_batched, options.grad_outputs = nil, nil
  local function grad(v) return require('torch._C').grad(outputs, inputs, v, options) end
  if not is_batched then return grad(weights) end
  if weights == nil then
    require('base.errors').raise('argument', 'grad: is_grads_batched needs grad_outputs with one dimension more in front')
  end
  return require('torch.func.vmap').vmap(grad)(weights)
end

---Returns the gradients of outputs with respect to inputs; `.grad` stays unchanged. PyTorch equivalent:
---torch.autograd.grad.
---@param outputs torch.Tensor|torch.Tensor[]
---@param inputs torch.Tensor|torch.Tensor[]
---@param ... any grad_outputs, {retain_graph, create_graph, allow_unused, materialize_grads, is_grads_batched}: with
---  is_grads_batched the grad_outputs have an additional first dimension, and so do the gradients, one for each of its
---  entries
---@return torch.Tensor[] grads one for each input; for an input on which the outputs do not depend, torch.none with
---  allow_unused, zeros with materialize_grads
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor(3, {requires_grad = true})
---local grads = torch.autograd.grad(x * x, x)
---assert(grads[1]:item() == 6 and x.grad == nil)
---```
function autograd.grad(outputs, inputs, ...)
  local options = select('#', ...) > 0 and select(-1, ...)
  if args.is_keywords(options) and options.is_grads_batched ~= nil then return batched_grad(outputs, inputs, ...) end
  return require('torch._C').grad(outputs, inputs, ...)
end

---Calls fn in anomaly mode: a backward that computes NaN, or that fails, raises an error with the script line of the
---corresponding forward operation. Slow; for debugging. PyTorch equivalent: torch.autograd.detect_anomaly.
---@param fn fun(...): ... computes the loss and calls backward()
---@param ... any arguments of fn, then {check_nan = true}
---@return any ... the results of fn
---
---```lua
---local torch = require 'torch'
---local x = torch.zeros(1, {requires_grad = true})
---local ok, err = pcall(torch.autograd.detect_anomaly, function()
---  local y = x:sqrt() * 0
---  y:backward()
---end)
---assert(not ok and tostring(err):find 'SqrtBackward0')
---```
function autograd.detect_anomaly(fn, ...)
  local options, count = args.trailing('detect_anomaly', {'check_nan'}, ...)
  return require('torch._C').detect_anomaly(options.check_nan ~= false, fn, unpack({...}, 1, count))
end

---Switches anomaly mode on or off.
---@param enabled boolean
---@param options? {check_nan: boolean} default true
function autograd.set_detect_anomaly(enabled, options)
  options = args.options(options, {'check_nan'}, 'set_detect_anomaly')
  require('torch._C').set_detect_anomaly(enabled, options.check_nan ~= false)
end

return require 'base.namespace'('torch.autograd', {
  files = {
    {'torch.autograd.function', 'Function'},
    {'torch.autograd.gradcheck', 'gradcheck', 'gradgradcheck'},
    {'torch', 'no_grad', 'enable_grad', 'inference_mode', 'set_grad_enabled'},
  },
  modules = {functional = 'torch.autograd.functional', graph = 'torch.autograd.graph', profiler = 'torch.autograd.profiler'},
  absent = {forward_ad = 'use torch.autograd.functional.jvp', Variable = 'every tensor is one',
           set_multithreading_enabled = 'backward runs on the thread that calls it'},
}, autograd)
