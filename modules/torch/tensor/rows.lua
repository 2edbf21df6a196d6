-- torch/tensor/rows.lua: x:iter() and x:len(): a tensor as the list of its rows.

local errors = require 'base.errors'
local checks = require 'torch.functions.checks'

local rows = {}

---Iterates over the rows of x: `for row in x:iter() do`. Python equivalent: iterating over a tensor.
---@param input torch.Tensor of at least one dimension
---@return fun(): torch.Tensor?
---
---```lua
---local torch = require 'torch'
---local sum = 0
---for row in torch.arange(4):iter() do sum = sum + row:item() end
---assert(sum == 6)
---```
function rows.iter(input)
  if checks.tensor('iter: input', input):dim() == 0 then errors.raise('argument', 'iter: a 0-dim tensor has no rows') end
  local list, i = input:unbind(0), 0
  return function()
    i = i + 1
    return list[i]
  end
end

---Returns size(0), as #x does.
---@param input torch.Tensor of at least one dimension
---@return integer
function rows.len(input) return #checks.tensor('len: input', input) end

return rows
