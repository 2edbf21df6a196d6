-- torch/checks.lua: what functions of torch ask of single arguments; each raises at the caller's line.

local errors = require 'rtrain.errors'
local C = require 'torch._C'

local checks = {}

---@param owner string the function and the parameter: 'tensordot: a'
---@param value any
---@return torch.Tensor value
function checks.tensor(owner, value)
  if not C.is_tensor(value) then
    errors.raise('argument', ('%s: expected a Tensor, got %s'):format(owner, type(value)))
  end
  return value
end

---@param owner string
---@param value any a list of sizes, or one size
---@return integer[]
function checks.sizes(owner, value)
  if type(value) == 'number' then value = {value} end
  if type(value) ~= 'table' then
    errors.raise('argument', ('%s: expected a list of sizes, got %s'):format(owner, type(value)))
  end
  for i = 1, #value do
    local size = value[i]
    if type(size) ~= 'number' or size < 0 or size % 1 ~= 0 or size == math.huge then
      errors.raise('argument', ('%s: expected sizes of at least 0, got %s'):format(owner, tostring(size)))
    end
  end
  return value
end

---@param owner string
---@param value any an integer of at least 0
---@return integer
function checks.count(owner, value)
  if type(value) ~= 'number' or value < 0 or value % 1 ~= 0 or value == math.huge then
    errors.raise('argument', ('%s: expected an integer of at least 0, got %s'):format(owner, tostring(value)))
  end
  return value
end

return checks
