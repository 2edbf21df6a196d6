-- text/models/config.lua: config.json of a model: the values that its class of transformers has without a file.

local errors = require 'base.errors'
local json = require 'json'
local read_file = require 'base.read_file'
local write_file = require 'base.write_file'

local config = {}

local function without_nulls(value)
  if type(value) ~= 'table' then return value end
  local out = {}
  for name, each in pairs(value) do
    if each ~= json.null then out[name] = without_nulls(each) end
  end
  return out
end

---Reads config.json of a folder; null is nil.
---@param folder string
---@param file? string another name
---@return table
---Errors: 'not_found' without the file; 'argument' if it is not a JSON object.
function config.read(folder, file)
  local path = folder .. '/' .. (file or 'config.json')
  local text, reason = read_file(path)
  if not text then errors.raise('not_found', reason .. (file and '' or ': expected a folder with config.json and model.safetensors')) end
  local ok, value = pcall(json.decode, text)
  if not ok then errors.raise('argument', ('%s: %s'):format(path, tostring(value))) end
  if type(value) ~= 'table' or #value > 0 then errors.raise('argument', path .. ': expected an object') end
  return without_nulls(value)
end

---Returns a config with what is missing taken from the defaults. A default may be a function of the config.
---@param given table
---@param defaults table
---@return table
function config.completed(given, defaults)
  local out = {}
  for name, value in pairs(given) do out[name] = value end
  for name, value in pairs(defaults) do
    if out[name] == nil and type(value) ~= 'function' then out[name] = value end
  end
  for name, value in pairs(defaults) do
    if out[name] == nil and type(value) == 'function' then out[name] = value(out) end
  end
  return out
end

---Writes config.json into a folder.
---@param folder string
---@param value table
---@param file? string another name
function config.write(folder, value, file)
  write_file(folder .. '/' .. (file or 'config.json'), json.encode(value, {indent = 2}) .. '\n')
end

return config
