-- torch/checks.lua: what functions of torch ask of single arguments; each raises at the caller's line.

local args = require 'rtrain.args'
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

---Tensors given one by one or as one list, and the keywords behind them.
---@param name string the function
---@param ... any
---@return torch.Tensor[] tensors
---@return table keywords empty when there are none
function checks.tensors_and_keywords(name, ...)
  local given, count, keywords = {...}, select('#', ...), {}
  if count > 0 and args.is_keywords(given[count]) then
    keywords, given[count] = given[count], nil
    count = count - 1
  end
  if count == 1 and type(given[1]) == 'table' then given, count = given[1], #given[1] end
  for i = 1, count do checks.tensor(('%s: argument %d'):format(name, i), given[i]) end
  return given, keywords
end

---As tensors_and_keywords, for a function that takes no keywords.
---@param name string
---@param ... any
---@return torch.Tensor[]
function checks.tensors(name, ...)
  local tensors, keywords = checks.tensors_and_keywords(name, ...)
  args.options(next(keywords) and keywords or nil, {}, name)
  return tensors
end

return checks
