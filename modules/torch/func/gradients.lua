-- torch/func/gradients.lua: torch.func.grad, grad_and_value, vjp, jvp.

local args = require 'base.args'
local errors = require 'base.errors'
local tree = require 'torch.func.tree'
local torch = require 'torch'

local gradients = {}

local RESULT = 'the result of the function'

local function C() return require 'torch._C' end

---Checks argnums.
---@param name string the function, for the message
---@param argnums integer|integer[]|nil
---@param count integer number of arguments
---@return integer[] positions from 0
function gradients._positions(name, argnums, count)
  local list = type(argnums) == 'table' and argnums or {argnums or 0}
  for _, n in ipairs(list) do
    if type(n) ~= 'number' or n < 0 or n >= count or n % 1 ~= 0 then
      errors.raise('argument', ('%s: argnums %s, and the function was called with %d arguments'):format(name,
        tostring(n), count))
    end
  end
  return list
end

-- Returns the arguments as tensors of a level, and the arguments at the positions, as a list of trees: the inputs to
-- differentiate by.
local function enter(name, level, positions, given, count)
  local is_input, inputs = {}, {}
  for _, n in ipairs(positions) do is_input[n + 1] = true end
  for i = 1, count do
    if is_input[i] then tree.tensors(name, given[i], 'argument ' .. i - 1) end
    given[i] = tree.map(given[i], function(x) return C()._wrap_for_grad(x, level, is_input[i]) end)
  end
  for i, n in ipairs(positions) do inputs[i] = given[n + 1] end
  return inputs
end

local function leave(level, value)
  return tree.map(value, function(x) return C()._unwrap_for_grad(x, level) end)
end

-- Returns the products of `weights` with the Jacobian of the outputs by the inputs, in a tree like the inputs. An
-- output that depends on no input counts as constant.
local function products(outputs, inputs, weights, options)
  local varying, their_weights = {}, weights and {}
  for i, output in ipairs(outputs) do
    if output.requires_grad then
      varying[#varying + 1] = output
      if weights then their_weights[#varying] = weights[i] end
    end
  end
  if #varying == 0 then return tree.map(inputs, torch.zeros_like) end
  options.grad_outputs, options.materialize_grads = their_weights, true
  return tree.filled(inputs, torch.autograd.grad(varying, tree.leaves(inputs), options))
end

local function check_number(name, value)
  if torch.is_tensor(value) and value:numel() == 1 then return value:reshape{} end
  errors.raise('argument', name .. ': the function must return a single number')
end

-- Returns gradients, the value, and the other results of fn.
local function evaluate(fn, name, options, ...)
  local count = select('#', ...)
  local positions = gradients._positions(name, options.argnums, count)
  return C()._with_grad(function(level, ...)
    local given = {...}
    local inputs = enter(name, level, positions, given, count)
    local value, aux = fn(unpack(given, 1, count))
    local grads = leave(level, products({check_number(name, value)}, inputs, nil, {create_graph = true}))
    if type(options.argnums) ~= 'table' then grads = grads[1] end
    if options.has_aux then return grads, leave(level, value), leave(level, aux) end
    return grads, leave(level, value)
  end, ...)
end

local OPTIONS = {'argnums', 'has_aux'}

---Returns a function that computes the gradient of fn with respect to its argument `argnums` (from 0; for a list it
---returns a list). An argument may be a table of tensors, such as parameters by name; its gradient is a table too.
---PyTorch equivalent: torch.func.grad.
---@param fn fun(...): torch.Tensor returns a single number
---@param options? {argnums: integer|integer[], has_aux: boolean} has_aux: fn returns a second value, passed through
---@return fun(...): torch.Tensor|table, any
---
---```lua
---local torch = require 'torch'
---local grad, vmap = torch.func.grad, torch.func.vmap
---local function cube(x) return x ^ 3 end
---assert(grad(cube)(torch.tensor(2)):item() == 12 and grad(grad(cube))(torch.tensor(2)):item() == 12)
---assert(torch.equal(vmap(grad(cube))(torch.tensor {1, 2}), torch.tensor {3, 12}))
---```
function gradients.grad(fn, options)
  options = args.options(options, OPTIONS, 'torch.func.grad')
  return function(...)
    local grads, _, aux = evaluate(fn, 'torch.func.grad', options, ...)
    if options.has_aux then return grads, aux end
    return grads
  end
end

---As grad; the returned function returns the gradient and the value of fn.
---@param fn fun(...): torch.Tensor returns a single number
---@param options? {argnums: integer|integer[], has_aux: boolean}
---@return fun(...): torch.Tensor|table, torch.Tensor, any
function gradients.grad_and_value(fn, options)
  options = args.options(options, OPTIONS, 'torch.func.grad_and_value')
  return function(...) return evaluate(fn, 'torch.func.grad_and_value', options, ...) end
end

-- A table of tensors is an argument, not options.
local function trailing_options(name, allowed, ...)
  local count = select('#', ...)
  if count > 0 and #tree.leaves((select(count, ...))) > 0 then return {}, count end
  return args.trailing(name, allowed, ...)
end

---Returns the value of fn, and a function that multiplies its argument with the Jacobian. PyTorch equivalent:
---torch.func.vjp.
---@param fn fun(...): torch.Tensor
---@param ... any primals; {has_aux = false (true: fn returns a second value, passed through)}
---@return torch.Tensor|table output
---@return fun(v: torch.Tensor|table): torch.Tensor, ... products one for each primal
---@return any aux
---
---```lua
---local torch = require 'torch'
---local y, vjp = torch.func.vjp(torch.sin, torch.zeros(3))
---assert(vjp(torch.ones(3)):sum():item() == 3 and y:sum():item() == 0)
---```
function gradients.vjp(fn, ...)
  local options, count = trailing_options('torch.func.vjp', {'has_aux'}, ...)
  local all, inputs, output, aux = {}, nil, nil, nil
  for i = 1, count do all[i] = i - 1 end
  local outside, outside_aux = C()._with_grad(function(level, ...)
    local given = {...}
    inputs = enter('torch.func.vjp', level, all, given, count)
    output, aux = fn(unpack(given, 1, count))
    tree.tensors('torch.func.vjp', output, RESULT)
    return leave(level, output), leave(level, aux)
  end, unpack({...}, 1, count))
  local function product(v)
    local outputs, weights = tree.leaves(output), tree.tensors('vjp', v, 'the argument')
    if #outputs ~= #weights then
      errors.raise('argument', ('vjp: %d tensors for a function of %d results'):format(#weights, #outputs))
    end
    return unpack(products(outputs, inputs, weights, {retain_graph = true, create_graph = torch.is_grad_enabled()}), 1, count)
  end
  if options.has_aux then return outside, product, outside_aux end
  return outside, product
end

local function as_list(value) return torch.is_tensor(value) and {value} or value end

---Returns the value of fn and the product of its Jacobian with tangents, in forward mode: no graph is kept.
---PyTorch equivalent: torch.func.jvp.
---@param fn fun(...): torch.Tensor
---@param primals any[] the arguments of fn; a single tensor means a list of one
---@param tangents any[] shaped like the primals
---@param options? {has_aux: boolean}
---@return torch.Tensor|table output
---@return torch.Tensor|table product shaped like the output
---@return any aux
---
---```lua
---local torch = require 'torch'
---local y, slope = torch.func.jvp(function(x) return x * x end, {torch.tensor {1, 3}}, {torch.ones(2)})
---assert(torch.equal(y, torch.tensor {1, 9}) and torch.equal(slope, torch.tensor {2, 6}))
---```
function gradients.jvp(fn, primals, tangents, options)
  options = args.options(options, {'has_aux'}, 'torch.func.jvp')
  primals, tangents = as_list(primals), as_list(tangents)
  local given = tree.tensors('torch.func.jvp', primals, 'primals')
  local directions = tree.tensors('torch.func.jvp', tangents, 'tangents')
  if #given ~= #directions then
    errors.raise('argument', ('torch.func.jvp: %d primals and %d tangents'):format(#given, #directions))
  end
  for i, x in ipairs(given) do
    if x.shape ~= directions[i].shape then
      errors.raise('argument', ('torch.func.jvp: tangent %d is %s, its primal %s'):format(i, tostring(directions[i].shape),
        tostring(x.shape)))
    end
  end
  return C()._with_jvp(function(level)
    local duals = {}
    for i, x in ipairs(given) do duals[i] = C()._make_dual_tensor(x, directions[i]) end
    local output, aux = fn(unpack(tree.filled(primals, duals)))
    local values, slopes = {}, {}
    for i, y in ipairs(tree.tensors('torch.func.jvp', output, RESULT)) do
      local value, slope = C()._unpack_dual_tensor(y)
      values[i], slopes[i] = C()._unwrap_for_grad(value, level), C()._unwrap_for_grad(slope, level)
    end
    if not options.has_aux then return tree.filled(output, values), tree.filled(output, slopes) end
    aux = tree.map(aux, function(x) return C()._unwrap_for_grad((C()._unpack_dual_tensor(x)), level) end)
    return tree.filled(output, values), tree.filled(output, slopes), aux
  end)
end

return gradients
