-- torch/autograd/function.lua: torch.autograd.Function.

local class = require 'base.class'
local errors = require 'base.errors'

---The context that `forward` and `backward` of a Function share. Any field may be set in forward and read in backward.
---Save tensors with save_for_backward, which detects changes in place and keeps no tensor alive for too long.
---@class torch.autograd.FunctionCtx
---@field saved_tensors torch.Tensor[] in backward: the arguments of save_for_backward; torch.none for a nil
---@field needs_input_grad boolean[] for each argument of forward, from 1
local Context = class('FunctionCtx')

-- A list cannot contain nil.
local function listed(...)
  local out, none = {...}, require('torch').none
  for i = 1, select('#', ...) do
    if out[i] == nil then out[i] = none end
  end
  return out
end

---Saves tensors for backward. Call it once, in forward (or setup_context).
---@param ... torch.Tensor|nil
function Context:save_for_backward(...) self._to_save = listed(...) end

---Declares arguments that forward changed in place; forward must return them.
---@param ... torch.Tensor
function Context:mark_dirty(...) self._dirty = {...} end

---Declares results without a gradient.
---@param ... torch.Tensor
function Context:mark_non_differentiable(...) self._non_differentiable = {...} end

---Sets whether backward gets zeros for results on which the loss does not depend (the default), or nil.
---@param value boolean
function Context:set_materialize_grads(value) self._materialize_grads = value end

---A custom operation with its own backward. A subclass defines `forward(ctx, …)` and `backward(ctx, …)`; the call is
---`Sub.apply(…)`. backward gets a gradient for each Tensor that forward returned, and returns one for each argument of
---forward, nil for an argument without a gradient. With `setup_context(ctx, inputs, outputs)` forward gets no ctx.
---Gradients flow only to arguments that are Tensors, not to Tensors in tables. PyTorch equivalent:
---torch.autograd.Function.
---
---```lua
---local torch = require 'torch'
---local Cube = torch.autograd.Function:extend('Cube')
---function Cube.forward(ctx, x)
---  ctx:save_for_backward(x)
---  return x ^ 3
---end
---function Cube.backward(ctx, grad)
---  local x = ctx.saved_tensors[1]
---  return grad * 3 * x ^ 2
---end
---local x = torch.tensor(2, {requires_grad = true})
---Cube.apply(x):backward()
---assert(x.grad:item() == 12)
---```
---@class torch.autograd.Function
local Function = class('Function')

-- Returns the results after the saved tensors are released.
local function leave(ctx, ...)
  ctx.saved_tensors = nil
  return ...
end

local function forward_of(of)
  if not of.setup_context then return of.forward end
  return function(ctx, ...)
    local outputs = {of.forward(...)}
    of.setup_context(ctx, {...}, #outputs <= 1 and outputs[1] or outputs)
    return unpack(outputs)
  end
end

local function apply(of, ...)
  if not of.forward or not of.backward then
    errors.raise('argument', ('%s needs both forward(ctx, …) and backward(ctx, …)'):format(of.__name))
  end
  local ctx = Context()
  return require('torch._C').apply_function(of.__name, ctx, forward_of(of), function(saved, ...)
    ctx.saved_tensors = saved
    return leave(ctx, of.backward(ctx, ...))
  end, ...)
end

---Makes a new operation.
---@param name string its nodes are printed as `<nameBackward>`
---@return torch.autograd.Function
function Function:extend(name)
  local new = class.new(name, self)
  new.apply = function(...) return apply(new, ...) end
  return new
end

return {Function = Function, FunctionCtx = Context}
