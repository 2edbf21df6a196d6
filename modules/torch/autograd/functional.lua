-- torch/autograd/functional.lua: torch.autograd.functional: Jacobians and Hessians, and products with them.

local args = require 'base.args'
local errors = require 'base.errors'
local torch = require 'torch'

local functional = {}

local OPTIONS = {'create_graph', 'strict'}

-- Returns the inputs as new leaves (with create_graph as parts of the caller's graph), and whether there was a single
-- input.
local function prepare(inputs, create_graph)
  local single = torch.is_tensor(inputs)
  local out = {}
  for i, x in ipairs(single and {inputs} or inputs) do
    if not torch.is_tensor(x) then
      errors.raise('argument', ('input %d must be a Tensor, got %s'):format(i, type(x)))
    end
    out[i] = create_graph and x.requires_grad and x:view_as(x) or x:detach():requires_grad_()
  end
  return out, single
end

local function outputs_of(name, fn, inputs)
  local outputs = {fn(unpack(inputs))}
  for i, y in ipairs(outputs) do
    if not torch.is_tensor(y) then
      errors.raise('argument', ('%s: result %d of the function must be a Tensor, got %s'):format(name, i, type(y)))
    end
  end
  return outputs, #outputs == 1
end

local function gradients(outputs, inputs, weights, create_graph, strict, name)
  local connected, kept = {}, {}
  for i, y in ipairs(outputs) do
    if y.requires_grad then
      connected[#connected + 1] = y
      if weights then kept[#kept + 1] = weights[i] end
    end
  end
  if strict and #connected < #outputs then
    errors.raise('argument', name .. ': strict, and a result does not depend on the inputs')
  end
  if #connected == 0 then
    local zeros = {}
    for i, x in ipairs(inputs) do zeros[i] = torch.zeros_like(x) end
    return zeros
  end
  return torch.autograd.grad(connected, inputs, weights and kept or nil,
    {create_graph = create_graph, retain_graph = true, materialize_grads = true})
end

local function finish(tensors, single, create_graph)
  if not create_graph then
    for i, x in ipairs(tensors) do tensors[i] = x:detach() end
  end
  return single and tensors[1] or tensors
end

local function weights_like(name, outputs, v)
  if v == nil then
    if #outputs == 1 and outputs[1]:numel() == 1 then return {torch.ones_like(outputs[1])} end
    errors.raise('argument', name .. ': v is needed, the function does not return a single number')
  end
  return torch.is_tensor(v) and {v} or v
end

---Computes the product of v with the Jacobian: vᵀ J. PyTorch equivalent: torch.autograd.functional.vjp.
---@param fn fun(...): torch.Tensor, ...
---@param inputs torch.Tensor|torch.Tensor[]
---@param v? torch.Tensor|torch.Tensor[] shaped like the results; not needed for a single number
---@param options? {create_graph: boolean, strict: boolean}
---@return torch.Tensor|torch.Tensor[] outputs
---@return torch.Tensor|torch.Tensor[] products shaped like the inputs
---
---```lua
---local torch = require 'torch'
---local _, product = torch.autograd.functional.vjp(function(x) return x * x end, torch.tensor{1, 2}, torch.ones(2))
---assert(product:tolist()[2] == 4)
---```
function functional.vjp(fn, inputs, v, options)
  options = args.options(options, OPTIONS, 'vjp')
  return torch.enable_grad(function()
    local leaves, single = prepare(inputs, options.create_graph)
    local outputs, one = outputs_of('vjp', fn, leaves)
    local weights = weights_like('vjp', outputs, v)
    local products = gradients(outputs, leaves, weights, options.create_graph, options.strict, 'vjp')
    return finish(outputs, one, options.create_graph), finish(products, single, options.create_graph)
  end)
end

-- vᵀ J is linear in v: its derivative by v gives J v.
local function forward_product(outputs, inputs, v, options, name)
  local weights = {}
  for i, y in ipairs(outputs) do weights[i] = torch.zeros_like(y):requires_grad_() end
  local products = gradients(outputs, inputs, weights, true, options.strict, name)
  return gradients(products, weights, v, options.create_graph, options.strict, name)
end

---Computes the product of the Jacobian with v: J v, by differentiating twice. PyTorch equivalent:
---torch.autograd.functional.jvp.
---@param fn fun(...): torch.Tensor, ...
---@param inputs torch.Tensor|torch.Tensor[]
---@param v? torch.Tensor|torch.Tensor[] shaped like the inputs; not needed for a single number
---@param options? {create_graph: boolean, strict: boolean}
---@return torch.Tensor|torch.Tensor[] outputs
---@return torch.Tensor|torch.Tensor[] products shaped like the outputs
function functional.jvp(fn, inputs, v, options)
  options = args.options(options, OPTIONS, 'jvp')
  return torch.enable_grad(function()
    local leaves = prepare(inputs, options.create_graph)
    local outputs, one = outputs_of('jvp', fn, leaves)
    local products = forward_product(outputs, leaves, weights_like('jvp', leaves, v), options, 'jvp')
    return finish(outputs, one, options.create_graph), finish(products, one, options.create_graph)
  end)
end

local function jacobian_of(output, inputs, options)
  local rows = {}
  for i in ipairs(inputs) do rows[i] = {} end
  local flat = output:reshape(-1)
  for j = 0, flat:numel() - 1 do
    local grads = gradients({flat[j]}, inputs, nil, options.create_graph, options.strict, 'jacobian')
    for i, grad in ipairs(grads) do rows[i][j + 1] = grad end
  end
  local out = {}
  for i, x in ipairs(inputs) do
    local size = {unpack(output:size())}
    for _, extent in ipairs(x:size()) do size[#size + 1] = extent end
    out[i] = #rows[i] > 0 and torch.stack(rows[i]):reshape(size) or torch.zeros(size, {dtype = x.dtype})
  end
  return out
end

---Computes the Jacobian of fn. PyTorch equivalent: torch.autograd.functional.jacobian.
---@param fn fun(...): torch.Tensor, ...
---@param inputs torch.Tensor|torch.Tensor[]
---@param options? {create_graph: boolean, strict: boolean}
---@return torch.Tensor|table jacobian its shape is the result's, then the input's; with several inputs a list by input,
---  and with several results a list by result of these
---
---```lua
---local torch = require 'torch'
---local J = torch.autograd.functional.jacobian(function(x) return x * x end, torch.tensor{1, 2})
---assert(J[{1, 1}]:item() == 4 and J[{0, 1}]:item() == 0)
---```
function functional.jacobian(fn, inputs, options)
  options = args.options(options, OPTIONS, 'jacobian')
  return torch.enable_grad(function()
    local leaves, single = prepare(inputs, options.create_graph)
    local outputs, one = outputs_of('jacobian', fn, leaves)
    local out = {}
    for i, output in ipairs(outputs) do
      out[i] = finish(jacobian_of(output, leaves, options), single, options.create_graph)
    end
    return one and out[1] or out
  end)
end

local function check_scalar(name, outputs)
  if #outputs == 1 and outputs[1]:numel() == 1 then return outputs[1]:reshape{} end
  errors.raise('argument', name .. ': the function must return a single number')
end

---Computes the Hessian of a function with one number as its result. PyTorch equivalent:
---torch.autograd.functional.hessian.
---@param fn fun(...): torch.Tensor
---@param inputs torch.Tensor|torch.Tensor[]
---@param options? {create_graph: boolean, strict: boolean}
---@return torch.Tensor|table hessian shape: the input's twice; for several inputs a list of lists
function functional.hessian(fn, inputs, options)
  options = args.options(options, OPTIONS, 'hessian')
  local single = torch.is_tensor(inputs)
  local function gradient(...)
    local given = {...}
    local value = check_scalar('hessian', outputs_of('hessian', fn, given))
    return unpack(gradients({value}, given, nil, true, options.strict, 'hessian'))
  end
  local out = functional.jacobian(gradient, inputs, options)
  return single and out or (#inputs == 1 and {out} or out)
end

-- Returns the value of fn, and the result of multiply(slopes, leaves, options) for its gradient.
local function with_slopes(name, fn, inputs, options, multiply)
  options = args.options(options, OPTIONS, name)
  return torch.enable_grad(function()
    local leaves, single = prepare(inputs, options.create_graph)
    local value = check_scalar(name, outputs_of(name, fn, leaves))
    local slopes = gradients({value}, leaves, nil, true, options.strict, name)
    local products = multiply(slopes, leaves, options)
    return finish({value}, true, options.create_graph), finish(products, single, options.create_graph)
  end)
end

---Computes the product of v with the Hessian: vᵀ H. PyTorch equivalent: torch.autograd.functional.vhp.
---@param fn fun(...): torch.Tensor
---@param inputs torch.Tensor|torch.Tensor[]
---@param v torch.Tensor|torch.Tensor[] shaped like the inputs
---@param options? {create_graph: boolean, strict: boolean}
---@return torch.Tensor output
---@return torch.Tensor|torch.Tensor[] products shaped like the inputs
function functional.vhp(fn, inputs, v, options)
  return with_slopes('vhp', fn, inputs, options, function(slopes, leaves, given)
    return gradients(slopes, leaves, weights_like('vhp', slopes, v), given.create_graph, given.strict, 'vhp')
  end)
end

---Computes the product of the Hessian with v: H v. PyTorch equivalent: torch.autograd.functional.hvp.
---@param fn fun(...): torch.Tensor
---@param inputs torch.Tensor|torch.Tensor[]
---@param v torch.Tensor|torch.Tensor[] shaped like the inputs
---@param options? {create_graph: boolean, strict: boolean}
---@return torch.Tensor output
---@return torch.Tensor|torch.Tensor[] products shaped like the inputs
function functional.hvp(fn, inputs, v, options)
  return with_slopes('hvp', fn, inputs, options, function(slopes, leaves, given)
    return forward_product(slopes, leaves, weights_like('hvp', leaves, v), given, 'hvp')
  end)
end

return require 'base.namespace'('torch.autograd.functional', nil, functional)
