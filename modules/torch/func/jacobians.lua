-- torch/func/jacobians.lua: torch.func.jacrev, jacfwd, hessian.

local args = require 'base.args'
local gradients = require 'torch.func.gradients'
local tree = require 'torch.func.tree'
local vmap = require('torch.func.vmap').vmap

local jacobians = {}

local OPTIONS = {'argnums', 'has_aux', 'chunk_size', 'randomness'}

-- Returns the unit vectors of the joint space of several tensors: for each tensor (n, …), where n counts all elements.
local function basis_of(tensors)
  local total, out = 0, {}
  for _, x in ipairs(tensors) do total = total + x:numel() end
  local first = 0
  for i, x in ipairs(tensors) do
    local unit = x:new_zeros{total, x:numel()}
    unit:narrow(0, first, x:numel()):fill_diagonal_(1)
    out[i] = unit:reshape{total, unpack(x.shape)}
    first = first + x:numel()
  end
  return out
end

-- Splits (n, …) along its first dimension, one part for each tensor.
local function split(x, tensors)
  local out, first = {}, 0
  for i, like in ipairs(tensors) do
    out[i] = x:narrow(0, first, like:numel())
    first = first + like:numel()
  end
  return out
end

local function shape_of(...)
  local out = {}
  for _, x in ipairs{...} do
    for _, extent in ipairs(x) do out[#out + 1] = extent end
  end
  return out
end

-- Replaces the arguments of the call at the positions.
local function with_arguments(fn, given, count, positions)
  return function(...)
    local all = {unpack(given, 1, count)}
    for i, n in ipairs(positions) do all[n + 1] = (select(i, ...)) end
    return fn(unpack(all, 1, count))
  end
end

-- Returns a function that differentiates with respect to the arguments at argnums. of_inputs(call, inputs, options)
-- returns a tree like the inputs for each tensor of the output.
local function by_arguments(name, fn, options, of_inputs)
  options = args.options(options, OPTIONS, name)
  return function(...)
    local given, count = {...}, select('#', ...)
    local positions, inputs = gradients._positions(name, options.argnums, count), {}
    for i, n in ipairs(positions) do inputs[i] = given[n + 1] end
    local output, rows, aux = of_inputs(with_arguments(fn, given, count, positions), inputs, options)
    for i, row in ipairs(rows) do
      if type(options.argnums) ~= 'table' then rows[i] = row[1] end
    end
    if options.has_aux then return tree.filled(output, rows), aux end
    return tree.filled(output, rows)
  end
end

local function batched(fn, options)
  return vmap(fn, {chunk_size = options.chunk_size, randomness = options.randomness or 'error'})
end

---Returns a function that computes the Jacobian of fn with respect to its argument `argnums`, by reverse mode: faster
---if there are fewer results than arguments. PyTorch equivalent: torch.func.jacrev.
---@param fn fun(...): torch.Tensor|table
---@param options? {argnums: integer|integer[], has_aux: boolean, chunk_size: integer} has_aux: fn returns a second
---  value, passed through; chunk_size: rows computed at once
---@return fun(...): torch.Tensor|table, any shape: the result's, then the argument's; with several results a table of
---  these, and with several arguments a list in each
---
---```lua
---local torch = require 'torch'
---local J, y = torch.func.jacrev(function(x) return x * x, x:sum() end, {has_aux = true})(torch.tensor {1, 2})
---assert(torch.equal(J, torch.tensor {{2, 0}, {0, 4}}) and y:item() == 3)
---```
function jacobians.jacrev(fn, options)
  return by_arguments('torch.func.jacrev', fn, options, function(call, inputs, given)
    local parameters = {unpack(inputs)}
    parameters[#parameters + 1] = {has_aux = given.has_aux == true}
    local output, product, aux = gradients.vjp(call, unpack(parameters))
    local outputs, sources = tree.leaves(output), tree.leaves(inputs)
    local products = batched(function(...) return tree.leaves{product{...}} end, given)(unpack(basis_of(outputs)))
    local rows = {}
    for i in ipairs(outputs) do rows[i] = {} end
    for j, all in ipairs(products) do
      for i, part in ipairs(split(all, outputs)) do
        rows[i][j] = part:reshape(shape_of(outputs[i].shape, sources[j].shape))
      end
    end
    for i, row in ipairs(rows) do rows[i] = tree.filled(inputs, row) end
    return output, rows, aux
  end)
end

---Returns a function that computes the Jacobian of fn with respect to its argument `argnums`, by forward mode: faster
---if there are more results than arguments. PyTorch equivalent: torch.func.jacfwd.
---@param fn fun(...): torch.Tensor|table
---@param options? {argnums: integer|integer[], has_aux: boolean, chunk_size: integer, randomness: string} as jacrev's
---@return fun(...): torch.Tensor|table, any as jacrev's
---
---```lua
---local torch = require 'torch'
---local J = torch.func.jacfwd(function(x, y) return x * y end, {argnums = 1})(torch.tensor {1, 2}, torch.tensor {3, 4})
---assert(torch.equal(J, torch.tensor {{1, 0}, {0, 2}}))
---```
function jacobians.jacfwd(fn, options)
  return by_arguments('torch.func.jacfwd', fn, options, function(call, inputs, given)
    local sources = tree.leaves(inputs)
    local products = batched(function(...)
      local value, product, other = gradients.jvp(call, inputs, tree.filled(inputs, {...}), {has_aux = given.has_aux})
      return {value = value, product = product, aux = other}
    end, given)(unpack(basis_of(sources)))
    local function first(x) return x[0] end
    local output, aux = tree.map(products.value, first), tree.map(products.aux, first)
    local outputs, rows = tree.leaves(output), {}
    for i, all in ipairs(tree.leaves(products.product)) do
      local row = {}
      for j, part in ipairs(split(all, sources)) do
        row[j] = part:movedim(0, -1):reshape(shape_of(outputs[i].shape, sources[j].shape))
      end
      rows[i] = tree.filled(inputs, row)
    end
    return output, rows, aux
  end)
end

---Returns a function that computes the Hessian of fn with respect to its argument `argnums`: forward mode over reverse
---mode. PyTorch equivalent: torch.func.hessian.
---@param fn fun(...): torch.Tensor
---@param options? {argnums: integer|integer[]}
---@return fun(...): torch.Tensor|table
---
---```lua
---local torch = require 'torch'
---local H = torch.func.hessian(function(x) return (x ^ 3):sum() end)(torch.tensor {1, 2})
---assert(torch.equal(H, torch.tensor {{6, 0}, {0, 12}}))
---```
function jacobians.hessian(fn, options)
  options = args.options(options, {'argnums'}, 'torch.func.hessian')
  return jacobians.jacfwd(jacobians.jacrev(fn, options), options)
end

return jacobians
