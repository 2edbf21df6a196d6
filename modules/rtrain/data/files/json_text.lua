-- rtrain/data/files/json_text.lua: formats Lua values as JSON.

local errors = require 'base.errors'
local is_list = require 'base.is_list'
local number = require 'base.number'
local ordered = require 'base.ordered'
local torch = require 'torch'

local json_text = {}

local ESCAPES = {['"'] = '\\"', ['\\'] = '\\\\', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t'}

local function escaped(c) return ESCAPES[c] or ('\\u%04x'):format(c:byte()) end

-- Returns the shortest of a few forms that reads back as the same number; NaN and infinities are null, as pandas writes
-- them.
local function number_text(value)
  if value ~= value or value == math.huge or value == -math.huge then return 'null' end
  if value == 0 and 1 / value < 0 then return '-0.0' end
  if value % 1 == 0 and math.abs(value) < 2 ^ 53 then return ('%d'):format(value) end
  local short = ('%.9g'):format(value)
  if tonumber(short) == value then return short end
  short = ('%.15g'):format(value)
  return tonumber(short) == value and short or ('%.17g'):format(value)
end

local function joined(list, open, close) return open .. table.concat(list, ',') .. close end

local function table_text(value)
  local out = {}
  if is_list(value) then
    for i, item in ipairs(value) do out[i] = json_text.of(item) end
    return joined(out, '[', ']')
  end
  for i, key in ipairs(ordered.keys_of(value)) do out[i] = json_text.of(tostring(key)) .. ':' .. json_text.of(value[key]) end
  return joined(out, '{', '}')
end

---Returns a value as JSON: lists and tensors as arrays, other tables as objects, nil and NaN as null.
---@param value any
---@return string
---
---```lua
---local json_text = require 'rtrain.data.files.json_text'
---assert(json_text.of{name = 'a"b', sizes = {1, 2.5}} == '{"name":"a\\"b","sizes":[1,2.5]}')
---```
function json_text.of(value)
  local kind = type(value)
  if value == nil or value == torch.none then return 'null' end
  if kind == 'string' then return '"' .. value:gsub('[%c"\\]', escaped) .. '"' end
  if kind == 'number' then return number_text(value) end
  if kind == 'boolean' then return tostring(value) end
  if kind == 'cdata' then return number.text(value) end
  if kind == 'userdata' and torch.is_tensor(value) then return json_text.of(value:tolist()) end
  if kind == 'table' then return table_text(value) end
  errors.raise('argument', ('a %s has no JSON'):format(kind))
end

return json_text
