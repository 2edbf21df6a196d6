-- lightgbm/parameters.lua: converts a table of parameters to the library's form: one text, 'name=value name=value'.

local errors = require 'base.errors'
local library = require 'lightgbm.library'
local ordered = require 'base.ordered'

local parameters = {}

local names  -- names of all parameters, and the parameter of each alias
local aliases = {}

local function read_names()
  if names then return end
  names = {}
  local text = library.text('lightgbm', 'LGBM_DumpParamAliases')
  local known = require('base._system').from_json(text)
  for _, name in ipairs(ordered.keys_of(known)) do
    names[#names + 1], aliases[name] = name, name
    for _, alias in ipairs(known[name]) do
      names[#names + 1], aliases[alias] = alias, name
    end
  end
end

---Returns the main name of a parameter: 'num_iterations' for 'num_boost_round'.
---@param name string
---@return string? name nil for an unknown parameter
function parameters.main_name(name)
  read_names()
  return aliases[name]
end

---Returns a parameter's value, given under any of its names.
---@param params table<string, any>
---@param main string
---@return any
function parameters.value(params, main)
  read_names()
  for _, name in ipairs(ordered.keys_of(params)) do
    if aliases[name] == main then return params[name] end
  end
  return nil
end

local function check_name(who, name)
  if type(name) ~= 'string' then
    errors.raise('argument', ('%s: params is a table {name = value}, got the key %s'):format(who, tostring(name)))
  end
  if not parameters.main_name(name) then
    errors.raise('argument', ("%s: unknown parameter '%s'%s"):format(who, name, errors.suggestion(name, names)))
  end
end

local function text_of(who, name, value)
  local kind = type(value)
  if kind == 'boolean' then return value and 'true' or 'false' end
  if kind == 'number' then
    return value % 1 == 0 and math.abs(value) < 2 ^ 53 and ('%d'):format(value) or ('%.17g'):format(value)
  end
  if kind == 'string' and not value:find '%s' then return value end
  if kind ~= 'table' or #value == 0 then
    errors.raise('argument', ('%s: parameter %s = %s: expected a number, a string without spaces, true or false, or a list')
      :format(who, name, tostring(value)))
  end
  local out = {}
  for i, item in ipairs(value) do
    local text = text_of(who, name, item)
    out[i] = type(item) == 'table' and '[' .. text .. ']' or text
  end
  return table.concat(out, ',')
end

---Returns the text, in an order that is the same on every rank.
---@param who string for messages
---@param params table<string, any>
---@return string
---Raises code 'argument' for an unknown name, and for a value of another type.
function parameters.text(who, params)
  if type(params) ~= 'table' then
    errors.raise('argument', ('%s: params is a %s, expected a table {name = value}'):format(who, type(params)))
  end
  local out = {}
  for _, name in ipairs(ordered.keys_of(params)) do
    check_name(who, name)
    out[#out + 1] = name .. '=' .. text_of(who, name, params[name])
  end
  return table.concat(out, ' ')
end

return parameters
