-- torch/nn/tuple.lua: normalizes sizes given as one number, or as a list with one for each dimension.

local errors = require 'base.errors'

---Returns a list of one number for each of `dims` dimensions: 3 → {3, 3}.
---@param value number|number[]
---@param dims integer
---@param name string the parameter, for the message
---@return number[]
local function tuple(value, dims, name)
  if type(value) == 'number' then
    local out = {}
    for i = 1, dims do out[i] = value end
    return out
  end
  if type(value) ~= 'table' or #value ~= dims then
    errors.raise('argument', ('%s: expected a number or a list of %d'):format(name, dims))
  end
  for i = 1, dims do
    local item = value[i]
    if type(item) == 'string' or type(item) == 'boolean' or type(item) == 'table' then
      errors.raise('argument', ('%s: expected a number or a list of %d, item %d is a %s'):format(name, dims, i, type(item)))
    end
  end
  return value
end

return tuple
