-- rtrain/data/dataset/checks.lua: checks of user arguments.

local class = require 'base.class'
local errors = require 'base.errors'

local checks = {}

---@param owner string the function, for messages
---@param name string
---@param value any
---@param least integer
---@return integer value
function checks.count(owner, name, value, least)
  if type(value) ~= 'number' or value % 1 ~= 0 or value < least then
    errors.raise('argument', ('%s: %s is a whole number from %d on, got %s'):format(owner, name, least, tostring(value)))
  end
  return value
end

---@param owner string the function, for messages
---@param value any
---@return rtrain.data.Dataset value
function checks.dataset(owner, value)
  if not class.is(value, require 'rtrain.data.dataset.base') then
    errors.raise('argument', ('%s: expected a Dataset, got a %s'):format(owner, type(value)))
  end
  return value
end

---Returns the argument as a list: a name of a column, or a list of distinct names.
---@param owner string the function, for messages
---@param columns string|string[]
---@return string[] names
function checks.names(owner, columns)
  local list = type(columns) == 'string' and {columns} or columns
  if type(list) ~= 'table' then
    errors.raise('argument', ('%s: expected the name of a column or a list of names, got a %s'):format(owner, type(columns)))
  end
  local seen = {}
  for i, name in ipairs(list) do
    if type(name) ~= 'string' then
      errors.raise('argument', ('%s: name %d is a %s, not a string'):format(owner, i, type(name)))
    end
    if seen[name] then errors.raise('argument', ("%s: column '%s' is named twice"):format(owner, name)) end
    seen[name] = true
  end
  return list
end

return checks
