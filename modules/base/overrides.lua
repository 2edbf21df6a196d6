-- base/overrides.lua: `--set key=value` of `rtrain run`: changes values in train_loop_config, with the type of the old
-- value.

local errors = require 'base.errors'
local number = require 'base.number'
local ordered = require 'base.ordered'
local written_list = require 'base.written_list'

local overrides = {}

local function copy(value)
  if type(value) ~= 'table' then return value end
  if ordered.is(value) then
    local out = ordered.new()
    for key, item in ordered.items(value) do out[key] = copy(item) end
    return out
  end
  local out = setmetatable({}, getmetatable(value))
  for key, item in next, value do rawset(out, key, copy(item)) end
  return out
end

local function refuse(option, text) errors.raise('config', ('%s: %s'):format(option, text)) end

local function to_number(option, text)
  local value = number.read(text)
  if value == nil then refuse(option, ("the script's value is a number, '%s' is none"):format(text)) end
  return value
end

local function to_boolean(option, text)
  if text ~= 'true' and text ~= 'false' then
    refuse(option, ("the script's value is true or false, '%s' is neither"):format(text))
  end
  return text == 'true'
end

---Converts a text of the command line to the type of the script's value.
---@param option string for messages: '--set lr'
---@param text string
---@param old any the script's value: a number, a boolean, a string, or a list of these
---@return any value
---Errors: 'config' if the text cannot be converted.
function overrides.typed(option, text, old)
  if type(old) == 'number' or type(old) == 'cdata' then return to_number(option, text) end
  if type(old) == 'boolean' then return to_boolean(option, text) end
  if type(old) == 'string' then return text end
  if #old == 0 then
    refuse(option, ("the script's value is a table: name a field in it%s"):format(errors.suggestion('', ordered.names_of(old))))
  end
  text = text:match '^%s*[%[{](.*)[%]}]%s*$' or text  -- list syntax of Python or Lua
  local list = {}
  local values, is_quoted = written_list(option, text)
  for i, value in ipairs(values) do
    if value ~= '' or is_quoted[i] then list[#list + 1] = overrides.typed(option, value, old[1]) end
  end
  return list
end

local function set(config, key, text, owner)
  local at, parts = config, {}
  for part in key:gmatch('[^.]+') do parts[#parts + 1] = part end
  for i, part in ipairs(parts) do
    local old = type(at) == 'table' and at[part]
    if type(at) == 'table' and old == nil and tonumber(part) then
      part = tonumber(part)
      old = at[part]
    end
    if old == nil or type(at) ~= 'table' then
      refuse('--set ' .. key, ("%s has no '%s'%s"):format(owner, table.concat(parts, '.', 1, i),
        errors.suggestion(part, type(at) == 'table' and ordered.names_of(at) or {})))
    end
    if i == #parts then
      at[part] = overrides.typed('--set ' .. key, text, old)
    else
      at = old
    end
  end
end

---Returns the config with the changes applied; the given config stays unchanged.
---@param config? table train_loop_config
---@param settings string[] each 'key=value', 'model.width=16' for a nested one; lists as '1,2,3'
---@param owner? string what has the values, for messages: 'train_loop_config'
---@return table? config
function overrides.apply(config, settings, owner)
  if #settings == 0 then return config end
  local out = copy(config or {})
  for _, setting in ipairs(settings) do
    local key, text = setting:match('^([^=]+)=(.*)$')
    if key == nil then errors.raise('usage', ("--set %s: expected KEY=VALUE"):format(setting)) end
    set(out, key, text, owner or 'train_loop_config')
  end
  return out
end

return overrides
