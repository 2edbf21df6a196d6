-- vision/transforms/sizes.lua: sizes, ranges and fills as arguments of transforms.

local errors = require 'base.errors'
local torch = require 'torch'

local sizes = {}

local function is_count(value) return type(value) == 'number' and value >= 1 and value % 1 == 0 end

---Returns {height, width}: 3 and {3} mean {3, 3}.
---@param owner string the function and parameter, for the message: 'CenterCrop: size'
---@param value integer|integer[]
---@return integer[]
function sizes.pair(owner, value)
  local list = type(value) == 'number' and {value, value} or value
  if type(list) == 'table' and #list == 1 then list = {list[1], list[1]} end
  if type(list) ~= 'table' or #list ~= 2 or not is_count(list[1]) or not is_count(list[2]) then
    errors.raise('argument', ('%s: expected a positive integer or {height, width}, got %s'):format(owner,
      sizes.text(value)))
  end
  return list
end

---Returns the text of a value for messages: '{1, 2}'.
---@param value any
---@return string
function sizes.text(value)
  if type(value) ~= 'table' then return tostring(value) end
  local out = {}
  for i, item in ipairs(value) do out[i] = tostring(item) end
  return '{' .. table.concat(out, ', ') .. '}'
end

---Returns a list of numbers, which must have one of the given lengths.
---@param owner string
---@param value any
---@param ... integer lengths
---@return number[]
function sizes.numbers(owner, value, ...)
  local is_good = false
  for _, length in ipairs{...} do is_good = is_good or (type(value) == 'table' and #value == length) end
  for i = 1, is_good and #value or 0 do is_good = is_good and type(value[i]) == 'number' end
  if not is_good then
    errors.raise('argument', ('%s: expected a list of %s numbers, got %s'):format(owner,
      table.concat({...}, ' or '), sizes.text(value)))
  end
  return value
end

---Returns a list of numbers for the channels: {0.5} for 0.5, for a tensor the list of its numbers.
---@param owner string
---@param value any
---@return number[]
function sizes.of_channels(owner, value)
  local list = type(value) == 'number' and {value} or value
  if torch.is_tensor(list) then list = list:view(-1):tolist() end
  if type(list) ~= 'table' or #list == 0 then
    errors.raise('argument', ('%s is a number or a list with one for each channel, got %s'):format(owner, sizes.text(value)))
  end
  return sizes.numbers(owner, list, #list)
end

---Returns {min, max}; min must not be above max.
---@param owner string
---@param value any
---@return number[]
function sizes.range(owner, value)
  sizes.numbers(owner, value, 2)
  if value[1] > value[2] then
    errors.raise('argument', ('%s: expected {min, max}, got %s'):format(owner, sizes.text(value)))
  end
  return value
end

---Returns whether the value is a number above 0.
---@param value any
---@return boolean
function sizes.is_positive(value) return type(value) == 'number' and value > 0 end

---Raises an error unless the factor of an adjustment is a number of at least 0.
---@param owner string
---@param name string
---@param value any
function sizes.check_factor(owner, name, value)
  if sizes.is_positive(value) or value == 0 then return end
  errors.raise('argument', ('%s: %s is a number from 0 on, got %s'):format(owner, name, tostring(value)))
end

---Returns a probability, after checking it.
---@param owner string
---@param value any
---@return number
function sizes.probability(owner, value)
  local is_good = type(value) == 'number' and value >= 0 and value <= 1
  if not is_good then
    errors.raise('argument', ('%s: p is a probability from 0 to 1, got %s'):format(owner, tostring(value)))
  end
  return value
end

---Returns a number, or one for each channel; nil if no fill was given.
---@param owner string
---@param value any
---@return number|number[]|nil
function sizes.fill(owner, value)
  if value == nil or type(value) == 'number' then return value end
  if type(value) == 'table' and type(value[1]) == 'number' then return value end
  errors.raise('argument', ('%s: fill is a number or a list with one for each channel, got %s'):format(owner,
    sizes.text(value)))
end

---Rounds as Python's round: halves to even.
---@param x number
---@return integer
function sizes.round(x)
  local floor = math.floor(x)
  local rest = x - floor
  if rest > 0.5 or (rest == 0.5 and floor % 2 == 1) then return floor + 1 end
  return floor
end

---Rounds towards zero, as Python's int.
---@param x number
---@return integer
function sizes.truncate(x) return x < 0 and math.ceil(x) or math.floor(x) end

return sizes
