-- torch/functions/products.lua: torch.einsum, torch.tensordot, torch.chain_matmul.

local args = require 'base.args'
local errors = require 'base.errors'
local aten = require 'torch.functions.aten'
local checks = require 'torch.functions.checks'
local C = require 'torch._C'

local products = {}

---Computes the product of matrices, in the cheapest order. PyTorch's newer name is torch.linalg.multi_dot.
---@param ... any tensors one by one or as a list; {out}
---@return torch.Tensor
function products.chain_matmul(...)
  local tensors, keywords = checks.tensors_and_keywords('chain_matmul', ...)
  args.options(keywords, {'out'}, 'chain_matmul')
  if #tensors == 1 then return tensors[1] end
  return aten.linalg_multi_dot(tensors, keywords)
end

local LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

-- Returns {0, '...', 1} as the letters of an equation.
local function subscripts(list)
  if type(list) ~= 'table' then
    errors.raise('argument', ('einsum: expected a list of subscripts, got %s'):format(type(list)))
  end
  local out = {}
  for i, item in ipairs(list) do
    local letter = type(item) == 'number' and item >= 0 and LETTERS:sub(item + 1, item + 1) or ''
    if item ~= '...' and letter == '' then
      errors.raise('argument', ("einsum: subscripts are integers from 0 to 51 or '...', got %s"):format(tostring(item)))
    end
    out[i] = item == '...' and item or letter
  end
  return table.concat(out)
end

-- Returns x, {0, 1}, y, {1, 2}, {0, 2} as an equation and operands.
local function from_sublists(...)
  local given, count, inputs, operands = {...}, select('#', ...), {}, {}
  for i = 1, count - 1, 2 do
    operands[#operands + 1] = given[i]
    inputs[#inputs + 1] = subscripts(given[i + 1])
  end
  local equation = table.concat(inputs, ',')
  if count % 2 == 1 then equation = equation .. '->' .. subscripts(given[count]) end
  return equation, operands
end

---Computes sums of products in Einstein's notation. PyTorch equivalent: torch.einsum.
---Arguments: equation, tensors one by one or as a list; or tensor, subscripts, tensor, subscripts, …, {output subscripts}
---with subscripts as lists of integers from 0 and '...'.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local x = torch.arange(6):view(2, 3)
---assert(torch.equal(torch.einsum('ij,kj->ik', x, x), x:matmul(x.T)))
---assert(torch.equal(torch.einsum(x, {0, 1}, {1, 0}), x.T))
---```
function products.einsum(...)
  if type((...)) == 'string' then return aten.einsum((...), checks.tensors('einsum', select(2, ...))) end
  if select('#', ...) < 2 then errors.raise('argument', 'einsum: expected an equation and tensors') end
  return aten.einsum(from_sublists(...))
end

local function first_dims(count, first)
  local out = {}
  for i = 1, count do out[i] = first + i - 1 end
  return out
end

local function check_tensordot_count(p)
  local count = p.dims
  checks.tensor('tensordot: a', p.a)
  checks.tensor('tensordot: b', p.b)
  if count < 0 or count % 1 ~= 0 or count > math.min(p.a:dim(), p.b:dim()) then
    errors.raise('argument', ('tensordot: dims must lie between 0 and the dimensions of both tensors (%d and %d), got %s')
      :format(p.a:dim(), p.b:dim(), tostring(count)))
  end
end

local tensordot = args.signature('tensordot', {'a', 'b', {'dims', 2}, {'out'}})

---Contracts dimensions of two tensors. PyTorch equivalent: torch.tensordot.
---Arguments: a, b, dims = 2: the number of a's last and b's first dimensions, or {dims of a, dims of b}; {out}.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local a, b = torch.ones(2, 3, 4), torch.ones(4, 3, 5)
---assert(torch.tensordot(a, b, {dims = {{1, 2}, {1, 0}}}).shape == torch.Size{2, 5})
---```
function products.tensordot(...)
  local p = tensordot:bind(...)
  if C.is_tensor(p.dims) then p.dims = p.dims:numel() == 1 and tonumber(p.dims:item()) or p.dims:tolist() end
  if type(p.dims) == 'number' then
    check_tensordot_count(p)
    return aten.tensordot(p.a, p.b, first_dims(p.dims, -p.dims), first_dims(p.dims, 0), {out = p.out})
  end
  if type(p.dims) ~= 'table' or #p.dims ~= 2 then
    errors.raise('argument', 'tensordot: dims is a number or two lists {dims of a, dims of b}')
  end
  return aten.tensordot(p.a, p.b, p.dims[1], p.dims[2], {out = p.out})
end

return products
