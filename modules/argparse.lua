-- argparse.lua: parses a script's own arguments: Lua's argparse; its manual is argparse.readthedocs.io.
--
-- The script's arguments follow the script file in `rtrain exec`, and `--` in `rtrain run`. A wrong argument ends the
-- process with exit code 2.

local argparse = require 'base._argparse'
local errors = require 'base.errors'
local number = require 'base.number'
local ordered = require 'base.ordered'
local overrides = require 'base.overrides'

-- All parsers have one class, so replacing its `error` affects all of them.
local Parser = getmetatable(argparse())

---Prints the error in the command line and ends the process with exit code 2.
---@param message string
function Parser:error(message)
  io.stderr:write(('%s\n\nError: %s\n'):format(self:get_usage(), message))
  os.exit(2)
end

local function keys_of(config)
  if ordered.is(config) then return ordered.keys(config) end
  local keys = {}
  for key in next, config do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function text_of(value)
  if type(value) ~= 'table' then return number.text(value) end
  local parts = {}
  for i, part in ipairs(value) do parts[i] = text_of(part) end
  return table.concat(parts, ',')
end

local function add_option(parser, key, value)
  local name = '--' .. key:gsub('_', '-')
  local option = parser:option(name, ('default: %s'):format(text_of(value))):target(key):argname '<value>':init(value)
  if key:find '_' then option:hidden_name('--' .. key) end
  option:convert(function(text)
    local ok, typed = pcall(overrides.typed, name, text, value)
    if ok then return typed end
    return nil, typed.message
  end)
end

---Returns a parser with an option for each value of a config. The result of parsing is a train_loop_config.
---A value is a number, a boolean ('true' or 'false'), a string, or a list of these, separated by commas; `batch_size`
---becomes `--batch-size`. Options that are not in the config are added as to any other parser.
---@param config table<string, any> names → default values
---@param name? string name of the script, for its help; default: arg[0]
---@param description? string
---@return table parser
---Errors: 'argument' for a value of another type.
---
---```lua
---local argparse = require 'argparse'
---local parser = argparse.of_config {lr = 0.1, batch_size = 32, layers = {64, 64}}
---local config = parser:parse {'--lr', '0.01', '--layers', '128,64'}
---assert(config.lr == 0.01 and config.batch_size == 32 and config.layers[1] == 128)
---```
function argparse.of_config(config, name, description)
  if type(config) ~= 'table' then
    errors.raise('argument', 'argparse.of_config: expected a table of default values, got ' .. type(config))
  end
  local parser = argparse(name, description)
  for _, key in ipairs(keys_of(config)) do
    local value = config[key]
    local is_value = type(value) == 'table' and #value > 0 or type(value) ~= 'table' and type(value) ~= 'function'
    if type(key) ~= 'string' or not is_value then
      errors.raise('argument', ('argparse.of_config: %s: expected a name with a number, a boolean, a string or a list, got '
        .. 'a %s'):format(tostring(key), type(value)))
    end
    add_option(parser, key, value)
  end
  return parser
end

return argparse
