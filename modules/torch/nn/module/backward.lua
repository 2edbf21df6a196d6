-- torch/nn/module/backward.lua: the autograd nodes for a module's backward hooks: one after its inputs and one after
-- its outputs. Both return tensors and gradients unchanged, except for changes by hooks.

local class = require 'base.class'
local errors = require 'base.errors'
local Function = require('torch.autograd.function').Function
local torch = require 'torch'

-- apply(on_gradients, tensors…) returns the tensors; in the backward pass their gradients pass through
-- on_gradients(list) → list.
local Through = Function:extend('BackwardHookFunction')

function Through.forward(ctx, on_gradients, ...)
  ctx.on_gradients, ctx.count = on_gradients, select('#', ...)
  local plain = {}
  for _, x in ipairs{...} do
    if not x.requires_grad then plain[#plain + 1] = x end
  end
  if #plain > 0 then ctx:mark_non_differentiable(unpack(plain)) end
  return ...
end

function Through.backward(ctx, ...)
  local grads = {...}
  for i = 1, ctx.count do grads[i] = grads[i] == nil and torch.none or grads[i] end
  local out = ctx.on_gradients(grads)
  for i = 1, ctx.count do
    if out[i] == torch.none then out[i] = nil end
  end
  return nil, unpack(out, 1, ctx.count)
end

local BackwardHooks = class('BackwardHooks')

function BackwardHooks:init(module, before, after)
  self._module, self._before, self._after_hooks = module, before, after
end

-- Returns the values with their tensors passed through a node, and the positions of the tensors (nil if none needs a
-- gradient).
local function pass_through(values, on_gradients)
  local positions, tensors, is_needed = {}, {}, false
  for i = 1, values.n do
    if torch.is_tensor(values[i]) then
      positions[#positions + 1], tensors[#tensors + 1] = i, values[i]
      is_needed = is_needed or values[i].requires_grad
    end
  end
  if not (is_needed and torch.is_grad_enabled()) then return values end
  local passed, out = {Through.apply(on_gradients, unpack(tensors))}, {n = values.n, unpack(values, 1, values.n)}
  for i, position in ipairs(positions) do out[position] = passed[i] end
  return out, positions
end

-- Returns the gradients at the positions of their tensors, torch.none elsewhere.
local function spread(grads, positions, count)
  local out = {}
  for i = 1, count do out[i] = torch.none end
  for i, position in ipairs(positions) do out[position] = grads[i] end
  return out
end

local function gather(grads, positions)
  local out = {}
  for i, position in ipairs(positions) do out[i] = grads[position] end
  return out
end

local function replaced(current, new, what)
  if new == nil then return current end
  if torch.is_tensor(new) then new = {new} end
  if #new ~= #current then
    errors.raise('argument', ('a backward hook returned %d gradients of %s, expected %d'):format(#new, what, #current))
  end
  return new
end

function BackwardHooks:_call_after(grad_inputs)
  for _, entry in ipairs(self._after_hooks) do
    grad_inputs = replaced(grad_inputs, entry.fn(self._module, grad_inputs, self._grad_outputs), 'the inputs')
  end
  self._grad_outputs = nil
  return grad_inputs
end

---Passes the module's inputs through a node.
---@param inputs {n: integer} any values
---@return {n: integer} inputs
function BackwardHooks:wrap_inputs(inputs)
  local out
  self._input_count = inputs.n
  out, self._input_positions = pass_through(inputs, function(grads)
    -- The gradients did not come through the outputs, as in a second backward pass.
    if self._grad_outputs == nil then return grads end
    local all = spread(grads, self._input_positions, self._input_count)
    return gather(self:_call_after(all), self._input_positions)
  end)
  return out
end

---Passes the module's outputs through a node.
---@param outputs {n: integer} any values
---@return {n: integer} outputs
function BackwardHooks:wrap_outputs(outputs)
  local out, positions
  out, positions = pass_through(outputs, function(grads)
    local all = spread(grads, positions, outputs.n)
    for _, entry in ipairs(self._before) do
      all = replaced(all, entry.fn(self._module, all), 'the outputs')
    end
    self._grad_outputs = all
    if self._input_positions == nil then self:_call_after(spread({}, {}, self._input_count)) end
    return gather(all, positions)
  end)
  return out
end

return BackwardHooks
