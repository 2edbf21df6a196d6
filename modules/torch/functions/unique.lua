-- torch/functions/unique.lua: torch.unique and torch.unique_consecutive.

local args = require 'base.args'
local aten = require 'torch.functions.aten'

local unique = {}

-- ATen returns all three, some of them empty; Python returns only the requested ones.
local function chosen(p, output, inverse, counts)
  if p.return_inverse and p.return_counts then return output, inverse, counts end
  if p.return_inverse then return output, inverse end
  if p.return_counts then return output, counts end
  return output
end

local of_all = args.signature('unique', {'input', {'sorted', true}, {'return_inverse', false},
  {'return_counts', false}, {'dim'}})

---Returns the distinct elements, or with `dim` the distinct slices along it. PyTorch equivalent: torch.unique.
---Arguments: input, sorted = true, return_inverse = false, return_counts = false, dim = nil.
---@param ... any
---@return torch.Tensor output
---@return torch.Tensor? inverse_indices of the input's shape (of size(dim) with `dim`): the index of each element in
---  output
---@return torch.Tensor? counts how often each element of output occurs
---
---```lua
---local torch = require 'torch'
---local values, counts = torch.unique(torch.tensor{3, 1, 3}, {return_counts = true})
---assert(torch.equal(values, torch.tensor{1, 3}) and counts[1]:item() == 2)
---```
function unique.unique(...)
  local p = of_all:bind(...)
  if p.dim then
    return chosen(p, aten.unique_dim(p.input, p.dim, p.sorted, p.return_inverse, p.return_counts))
  end
  return chosen(p, aten._unique2(p.input, p.sorted, p.return_inverse, p.return_counts))
end

local of_runs = args.signature('unique_consecutive', {'input', {'return_inverse', false}, {'return_counts', false},
  {'dim'}})

---Returns the first element of every run of equal ones. PyTorch equivalent: torch.unique_consecutive.
---Arguments: input, return_inverse = false, return_counts = false, dim = nil; results as of torch.unique.
---@param ... any
---@return torch.Tensor output
---@return torch.Tensor? inverse_indices
---@return torch.Tensor? counts
function unique.unique_consecutive(...)
  local p = of_runs:bind(...)
  return chosen(p, aten.unique_consecutive(p.input, p.return_inverse, p.return_counts, p.dim))
end

return unique
