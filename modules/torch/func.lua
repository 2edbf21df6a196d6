-- torch/func.lua: torch.func: functions of functions. Each call differentiates by its own leaves.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local shown = require 'base.shown'
local torch = require 'torch'

local func = {}

local function positions(argnums, count, name)
  local list = type(argnums) == 'table' and argnums or {argnums or 0}
  for _, n in ipairs(list) do
    if type(n) ~= 'number' or n < 0 or n >= count then
      errors.raise('argument', ('%s: argnums %s, and the function was called with %d arguments'):format(name,
        tostring(n), count))
    end
  end
  return list
end

-- A tree of tables (lists, maps) with fn of each thing that is none; `place` is how messages name it.
local function mapped(tree, fn, place)
  if type(tree) ~= 'table' or class.of(tree) then return fn(tree, place) end
  local out = ordered.is(tree) and ordered.new() or setmetatable({}, getmetatable(tree))
  for _, key in ipairs(ordered.keys_of(tree)) do
    out[key] = mapped(tree[key], fn, type(key) == 'number' and ('%s[%d]'):format(place, key) or place .. '.' .. tostring(key))
  end
  return out
end

-- The arguments with the tensors of those at the positions as new leaves (parts of the caller's graph where they have one);
-- the leaves in order; the same of each argument, with the places in that order.
local function with_leaves(name, list, ...)
  local given, leaves, shapes = {...}, {}, {}
  local function leaf(x, place)
    if not torch.is_tensor(x) then
      errors.raise('argument', ('%s: expected a Tensor, or tables of Tensors, got %s for %s'):format(name, shown(x), place))
    end
    leaves[#leaves + 1] = x.requires_grad and x:view_as(x) or x:detach():requires_grad_()
    return leaves[#leaves]
  end
  for i, n in ipairs(list) do
    local first = #leaves
    given[n + 1] = mapped(given[n + 1], leaf, 'argument ' .. n)
    shapes[i] = function(results)
      local at = first
      return mapped(given[n + 1], function()
        at = at + 1
        return results[at]
      end, '')
    end
  end
  return given, leaves, shapes
end

local function evaluate(fn, name, argnums, has_aux, ...)
  local count = select('#', ...)
  local list = positions(argnums, count, name)
  local given, leaves, shapes = with_leaves(name, list, ...)
  local value, aux = fn(unpack(given, 1, count))
  if not torch.is_tensor(value) or value:numel() ~= 1 then
    errors.raise('argument', name .. ': the function must return a single number')
  end
  local grads = torch.autograd.grad(value:reshape{}, leaves, {create_graph = true, materialize_grads = true})
  local out = {}
  for i, shape in ipairs(shapes) do out[i] = shape(grads) end
  return type(argnums) == 'table' and out or out[1], value, has_aux and aux or nil
end

-- Results keep a graph only where the caller's arguments had one.
local function settle(has_graph, value)
  if has_graph then return value end
  return mapped(value, function(x) return torch.is_tensor(x) and x:detach() or x end, '')
end

local function any_graph(...)
  local found = false
  for i = 1, select('#', ...) do
    mapped((select(i, ...)), function(x) found = found or torch.is_tensor(x) and x.requires_grad end, '')
  end
  return found
end

---A function that gives the gradient of fn by its argument `argnums` (from 0; a list gives a list). For an argument that is
---a table of tensors it is such a table of gradients. PyTorch equivalent: torch.func.grad.
---@param fn fun(...): torch.Tensor returns a single number
---@param options? {argnums: integer|integer[], has_aux: boolean} has_aux: fn returns a second value, passed through
---@return fun(...): torch.Tensor|table, any
---
---```lua
---local torch = require 'torch'
---local slope = torch.func.grad(function(x) return x ^ 3 end)
---assert(slope(torch.tensor(2)):item() == 12)
---local curvature = torch.func.grad(torch.func.grad(function(x) return x ^ 3 end))
---assert(curvature(torch.tensor(2)):item() == 12)
---local net = torch.nn.Linear(2, 1)
---local function loss(parameters) return torch.func.functional_call(net, parameters, torch.ones(1, 2)):sum() end
---local grads = torch.func.grad(loss)(net:state_dict())
---assert(grads.weight:equal(torch.ones(1, 2)) and grads.bias:item() == 1)
---```
function func.grad(fn, options)
  options = args.options(options, {'argnums', 'has_aux'}, 'torch.func.grad')
  return function(...)
    local has_graph = any_graph(...)
    local grads, _, aux = torch.enable_grad(evaluate, fn, 'torch.func.grad', options.argnums, options.has_aux, ...)
    return settle(has_graph, grads), aux
  end
end

---As grad; the function gives the gradient and the value of fn.
---@param fn fun(...): torch.Tensor returns a single number
---@param options? {argnums: integer|integer[], has_aux: boolean}
---@return fun(...): torch.Tensor|table, torch.Tensor, any
function func.grad_and_value(fn, options)
  options = args.options(options, {'argnums', 'has_aux'}, 'torch.func.grad_and_value')
  return function(...)
    local has_graph = any_graph(...)
    local grads, value, aux = torch.enable_grad(evaluate, fn, 'torch.func.grad_and_value', options.argnums,
      options.has_aux, ...)
    return settle(has_graph, grads), settle(has_graph, value), aux
  end
end

---The value of fn and a function that gives the products of its argument with the Jacobian. PyTorch equivalent: torch.func.vjp.
---@param fn fun(...): torch.Tensor
---@param ... torch.Tensor|table primals: tensors, or tables of them
---@return torch.Tensor output
---@return fun(v: torch.Tensor): torch.Tensor|table, ... products one for each primal
---
---```lua
---local torch = require 'torch'
---local y, vjp = torch.func.vjp(torch.sin, torch.zeros(3))
---assert(vjp(torch.ones(3)):sum():item() == 3 and y:sum():item() == 0)
---```
function func.vjp(fn, ...)
  local count = select('#', ...)
  local all = {}
  for i = 1, count do all[i] = i - 1 end
  local given, leaves, shapes = with_leaves('torch.func.vjp', all, ...)
  local has_graph = any_graph(...)
  local output = torch.enable_grad(fn, unpack(given, 1, count))
  return settle(has_graph, output), function(v)
    local grads = torch.autograd.grad(output, leaves, v, {retain_graph = true, create_graph = has_graph,
                                                          materialize_grads = true})
    local out = {}
    for i, shape in ipairs(shapes) do out[i] = shape(grads) end
    return unpack(out, 1, count)
  end
end

---A function that gives the Jacobian of fn by its argument `argnums`, row by row. PyTorch equivalent: torch.func.jacrev.
---@param fn fun(...): torch.Tensor
---@param options? {argnums: integer}
---@return fun(...): torch.Tensor
function func.jacrev(fn, options)
  options = args.options(options, {'argnums'}, 'torch.func.jacrev')
  return function(...)
    local given, count = {...}, select('#', ...)
    local place = positions(options.argnums, count, 'torch.func.jacrev')[1] + 1
    local function of_one(x)
      given[place] = x
      return fn(unpack(given, 1, count))
    end
    return torch.autograd.functional.jacobian(of_one, given[place], {create_graph = any_graph(...)})
  end
end

---A function that gives the Hessian of fn, which returns a single number. PyTorch equivalent: torch.func.hessian.
---@param fn fun(...): torch.Tensor
---@param options? {argnums: integer}
---@return fun(...): torch.Tensor
function func.hessian(fn, options) return func.jacrev(func.grad(fn, options), options) end

return require 'base.namespace'('torch.func', {
  files = {{'torch.nn.utils.stateless', 'functional_call'}},
  absent = {vmap = 'write the batch dimension into the function', jvp = 'use torch.autograd.functional.jvp',
           jacfwd = 'use jacrev', linearize = true},
}, func)
