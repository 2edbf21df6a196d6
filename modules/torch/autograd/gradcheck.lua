-- torch/autograd/gradcheck.lua: compares gradients with finite differences.

local args = require 'base.args'
local errors = require 'base.errors'
local torch = require 'torch'

local function as_list(value)
  return type(value) == 'table' and value or {value}
end

local function differentiable(tensors)
  local out = {}
  for i, x in ipairs(tensors) do
    if torch.is_tensor(x) and x.requires_grad then out[#out + 1] = {index = i, tensor = x} end
  end
  return out
end

-- Returns the results to check: floating point and connected to the inputs.
local function outputs_of(fn, inputs)
  local out = {}
  for _, y in ipairs{fn(unpack(inputs))} do
    if torch.is_tensor(y) and y.requires_grad then out[#out + 1] = y end
  end
  return out
end

-- Row j is the gradient of element j of the output.
local function analytic(output, x, create_graph)
  local flat, rows = output:reshape(-1), {}
  for j = 0, flat:numel() - 1 do
    rows[j + 1] = torch.autograd.grad(flat[j], x, {retain_graph = true, create_graph = create_graph,
                                                   materialize_grads = true})[1]:reshape(-1)
  end
  return torch.stack(rows)
end

-- Column i is the central difference by element i of the input.
local function numeric(fn, inputs, x, which, eps)
  local values, columns = x.data:view(-1), {}
  local function output() return outputs_of(fn, inputs)[which]:detach():reshape(-1):clone() end
  for i = 0, values:numel() - 1 do
    local before = values[i]:item()
    values[i] = before + eps
    local above = output()
    values[i] = before - eps
    local below = output()
    values[i] = before
    columns[i + 1] = (above - below) / (2 * eps)
  end
  return torch.stack(columns, 1)
end

local function check_inputs(inputs)
  local found = differentiable(inputs)
  if #found == 0 then errors.raise('argument', 'gradcheck: no input requires grad') end
  for _, entry in ipairs(found) do
    if entry.tensor.dtype ~= 'float64' then
      errors.raise('argument', ('gradcheck: input %d is %s: differences need float64'):format(entry.index,
        entry.tensor.dtype))
    end
    if not entry.tensor:is_contiguous() then
      errors.raise('argument', ('gradcheck: input %d must be contiguous'):format(entry.index))
    end
  end
  return found
end

local function report(options, text)
  if options.raise_exception == false then return false end
  errors.raise('argument', text)
end

local OPTIONS = {'eps', 'atol', 'rtol', 'raise_exception'}

---Checks the gradients of fn against central differences. PyTorch equivalent: torch.autograd.gradcheck.
---@param fn fun(...): torch.Tensor, ... deterministic
---@param inputs torch.Tensor|any[] arguments of fn; those that require grad are checked: float64, contiguous
---@param options? {eps: number, atol: number, rtol: number, raise_exception: boolean} 1e-6, 1e-5, 1e-3, true
---@return boolean ok
---
---```lua
---local torch = require 'torch'
---local x = torch.rand(3, {dtype = 'float64', requires_grad = true})
---assert(torch.autograd.gradcheck(torch.tanh, x))
---```
local function gradcheck(fn, inputs, options)
  options = args.options(options, OPTIONS, 'gradcheck')
  inputs = as_list(inputs)
  local atol, rtol = options.atol or 1e-5, options.rtol or 1e-3
  local checked = check_inputs(inputs)
  local outputs = outputs_of(fn, inputs)
  if #outputs == 0 then return report(options, 'gradcheck: no output requires grad') end
  for which, output in ipairs(outputs) do
    for _, entry in ipairs(checked) do
      local got = analytic(output, entry.tensor)
      local wanted = torch.no_grad(function()
        return torch.enable_grad(numeric, fn, inputs, entry.tensor, which, options.eps or 1e-6)
      end)
      if not got:allclose(wanted, rtol, atol) then
        return report(options, ('gradcheck: output %d by input %d\nnumerical: %s\nanalytical: %s'):format(which,
          entry.index, tostring(wanted), tostring(got)))
      end
    end
  end
  return true
end

---Checks the second derivatives of fn: gradcheck of its gradients. PyTorch equivalent: torch.autograd.gradgradcheck.
---@param fn fun(...): torch.Tensor, ...
---@param inputs torch.Tensor|any[] as gradcheck's
---@param options? {eps: number, atol: number, rtol: number, raise_exception: boolean}
---@return boolean ok
local function gradgradcheck(fn, inputs, options)
  inputs = as_list(inputs)
  local function gradients(...)
    local given = {...}
    local wanted = {}
    for i, entry in ipairs(differentiable(given)) do wanted[i] = entry.tensor end
    local outputs, weights = outputs_of(fn, given), {}
    for i, y in ipairs(outputs) do
      weights[i] = torch.linspace(0.5, 1.5, math.max(y:numel(), 1), {dtype = 'float64'}):view(y:size())
    end
    return unpack(torch.autograd.grad(outputs, wanted, weights, {create_graph = true, materialize_grads = true}))
  end
  return gradcheck(gradients, inputs, options)
end

return {gradcheck = gradcheck, gradgradcheck = gradgradcheck}
