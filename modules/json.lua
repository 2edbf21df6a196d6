-- json.lua: JSON for scripts: Python's json.loads and json.dumps, also under the names that Lua libraries use.

local args = require 'base.args'
local errors = require 'base.errors'
local is_list = require 'base.is_list'
local int64 = require('ffi').typeof 'int64_t'
local ordered = require 'base.ordered'

local json = {}

local MAX_DEPTH = 1000
-- Larger doubles do not represent every integer.
local MAX_EXACT = 2 ^ 53

---The value for null, since a table field cannot be nil. It equals only itself.
json.null = setmetatable({}, {
  __tostring = function() return 'null' end,
  __pack = function() return 'json', '_null', {} end,
})

---Returns json.null of this process, in place of the json.null of another process.
---@return table
function json._null() return json.null end

local ESCAPES = {['"'] = '"', ['\\'] = '\\', ['/'] = '/', b = '\b', f = '\f', n = '\n', r = '\r', t = '\t'}
local WORDS = {['true'] = true, ['false'] = false, null = json.null, NaN = 0 / 0, Infinity = math.huge,
               ['-Infinity'] = -math.huge}

-- Raises an error with the line and the column of a place.
local function raise_at(text, at, message)
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub('\n', '\n')
  errors.raise('argument', ('json.decode: %s at line %d, column %d'):format(message, breaks + 1, #before:match '[^\n]*$' + 1))
end

local function utf8_of(code)
  if code < 0x80 then return string.char(code) end
  if code < 0x800 then return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64) end
  if code < 0x10000 then
    return string.char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
  end
  return string.char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64,
    0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
end

-- Returns the character of `\uXXXX`, whose digits begin at `at`, and its end. A surrogate pair is one character.
local function decode_unicode(text, at)
  local code = tonumber(text:match('^%x%x%x%x', at) or raise_at(text, at, 'expected four hexadecimal digits'), 16)
  if code < 0xD800 or code > 0xDFFF then return utf8_of(code), at + 4 end
  local low = tonumber(text:match('^\\u(%x%x%x%x)', at + 4) or '0', 16)
  if code > 0xDBFF or low < 0xDC00 or low > 0xDFFF then raise_at(text, at, 'half of a surrogate pair') end
  return utf8_of(0x10000 + (code - 0xD800) * 1024 + low - 0xDC00), at + 10
end

local function decode_escape(text, at)
  local letter = text:sub(at, at)
  if letter == 'u' then return decode_unicode(text, at + 1) end
  return ESCAPES[letter] or raise_at(text, at, 'unknown escape'), at + 1
end

-- `at` is after the opening quote.
local function decode_string(text, at)
  local stop = text:find('["\\%c]', at)
  if stop and text:sub(stop, stop) == '"' then return text:sub(at, stop - 1), stop + 1 end
  local parts = {}
  while true do
    stop = text:find('["\\%c]', at)
    local found = stop and text:sub(stop, stop)
    -- Lua counts DEL among the control characters.
    if not stop then raise_at(text, #text + 1, 'a string without its end') end
    if found ~= '"' and found ~= '\\' and found ~= '\127' then raise_at(text, stop, 'a control character in a string') end
    parts[#parts + 1] = text:sub(at, found == '\127' and stop or stop - 1)
    at = stop + 1
    if found == '"' then return table.concat(parts), at end
    if found == '\\' then parts[#parts + 1], at = decode_escape(text, at) end
  end
end

-- Returns an integer that no double represents as int64 or uint64, if possible.
local function exact(digits)
  local sign, rest = digits:match '^(-?)(%d+)$'
  if not rest then return tonumber(digits) end
  local value = 0ULL
  for text in rest:gmatch '%d' do
    local digit = tonumber(text)
    if value > (0xFFFFFFFFFFFFFFFFULL - digit) / 10 then return tonumber(digits) end
    value = value * 10 + digit
  end
  if sign == '' then return value <= 0x7FFFFFFFFFFFFFFFULL and int64(value) or value end
  if value <= 0x8000000000000000ULL then return -int64(value) end
  return tonumber(digits)
end

local function decode_scalar(text, at)
  local word = text:match('^-?%a+', at)
  if word and WORDS[word] ~= nil then return WORDS[word], at + #word end
  local digits = text:match('^-?%d+%.?%d*[eE]?[+-]?%d*', at)
  if not digits or digits:find '^-?0%d' or not (digits:find '^-?%d+$' or digits:find '^-?%d+%.%d+$'
    or digits:find '^-?%d+%.?%d*[eE][+-]?%d+$') or digits:find '%.[eE]' then
    raise_at(text, at, at > #text and 'expected a value'
      or ("expected a value, found '%s'"):format(text:match('^[^%s,%]}]+', at)
      or text:sub(at, at)))
  end
  local value = tonumber(digits)
  if math.abs(value) >= MAX_EXACT then value = exact(digits) end
  return value, at + #digits
end

local decode_value

local function skip(text, at) return text:find('[^ \t\r\n]', at) or #text + 1 end

local function decode_list(text, at, depth)
  local list, count = {}, 0
  at = skip(text, at)
  -- An empty array is marked, so that it is written as an array again.
  if text:sub(at, at) == ']' then return setmetatable(list, debug.getregistry()['rtrain.list']), at + 1 end
  while true do
    count = count + 1
    list[count], at = decode_value(text, at, depth)
    at = skip(text, at)
    local mark = text:sub(at, at)
    if mark == ']' then return list, at + 1 end
    if mark ~= ',' then raise_at(text, at, "expected ',' or ']'") end
    at = at + 1
  end
end

local function decode_object(text, at, depth)
  local object = {}
  at = skip(text, at)
  if text:sub(at, at) == '}' then return object, at + 1 end
  while true do
    at = skip(text, at)
    if text:sub(at, at) ~= '"' then raise_at(text, at, 'expected a name in double quotes') end
    local name
    name, at = decode_string(text, at + 1)
    at = skip(text, at)
    if text:sub(at, at) ~= ':' then raise_at(text, at, "expected ':'") end
    object[name], at = decode_value(text, at + 1, depth)
    at = skip(text, at)
    local mark = text:sub(at, at)
    if mark == '}' then return object, at + 1 end
    if mark ~= ',' then raise_at(text, at, "expected ',' or '}'") end
    at = at + 1
  end
end

function decode_value(text, at, depth)
  at = skip(text, at)
  local first = text:sub(at, at)
  if first == '"' then return decode_string(text, at + 1) end
  if first ~= '{' and first ~= '[' then return decode_scalar(text, at) end
  if depth == MAX_DEPTH then raise_at(text, at, ('more than %d levels'):format(MAX_DEPTH)) end
  return (first == '{' and decode_object or decode_list)(text, at + 1, depth + 1)
end

---Returns the value of a JSON text: objects and arrays as tables (arrays count from 1), null as json.null, an integer
---beyond 2^53 as int64 or uint64. NaN and Infinity are read as Python writes them. Python equivalent: json.loads.
---@param text string
---@return any
---Errors: 'argument' with line and column if the text is not JSON.
---
---```lua
---local json = require 'json'
---local config = json.decode '{"lr": 1e-3, "layers": [64, 10], "dropout": null}'
---assert(config.lr == 0.001 and config.layers[2] == 10 and config.dropout == json.null)
---```
function json.decode(text)
  if type(text) ~= 'string' then
    errors.raise('argument', ('json.decode: expected a string, got %s'):format(type(text)))
  end
  local value, at = decode_value(text, 1, 0)
  at = skip(text, at)
  if at <= #text then raise_at(text, at, 'more behind the value') end
  return value
end

local SHORT = {['"'] = '\\"', ['\\'] = '\\\\', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t'}

local function quoted(text)
  return '"' .. text:gsub('[%z\1-\31"\\]', function(c) return SHORT[c] or ('\\u%04x'):format(c:byte()) end) .. '"'
end

local function number_text(value)
  if value ~= value then return 'NaN' end
  if value == math.huge or value == -math.huge then return value > 0 and 'Infinity' or '-Infinity' end
  if value % 1 == 0 and math.abs(value) < 1e15 then
    return value == 0 and 1 / value < 0 and '-0.0' or ('%d'):format(value)
  end
  local short = ('%.15g'):format(value)
  if tonumber(short) ~= value then short = ('%.16g'):format(value) end
  return tonumber(short) == value and short or ('%.17g'):format(value)
end

local function has_names_alone(value)
  for key in next, value do
    if type(key) ~= 'string' then return false end
  end
  return true
end

-- Returns whether a table is written as an array: its keys are 1…n, or it is empty and marked as a list.
local function is_array(value, path)
  if has_names_alone(value) then
    return next(value) == nil and getmetatable(value) == debug.getregistry()['rtrain.list']
  end
  if not is_list(value) then
    errors.raise('argument', ('json.encode: %s is neither a list nor a map: its keys are neither 1…n nor all strings'):format(
      path))
  end
  return true
end

local encode_value

local function encode_table(value, state, path, indent)
  if state.open[value] then errors.raise('argument', ('json.encode: %s contains itself'):format(path)) end
  state.open[value] = true
  local as_list, parts = is_array(value, path), {}
  local inner = state.step and indent .. state.step or ''
  if as_list then
    for i, item in ipairs(value) do parts[i] = encode_value(item, state, ('%s[%d]'):format(path, i), inner) end
  else
    for i, key in ipairs(ordered.keys_of(value)) do
      parts[i] = quoted(key) .. ': ' .. encode_value(value[key], state, ('%s.%s'):format(path, key), inner)
    end
  end
  state.open[value] = nil
  local first, last = (as_list and '[' or '{'), (as_list and ']' or '}')
  if #parts == 0 or not state.step then return first .. table.concat(parts, ', ') .. last end
  return ('%s\n%s%s\n%s%s'):format(first, inner, table.concat(parts, ',\n' .. inner), indent, last)
end

function encode_value(value, state, path, indent)
  local kind = type(value)
  if value == json.null then return 'null' end
  if kind == 'string' then return quoted(value) end
  if kind == 'number' then return number_text(value) end
  if kind == 'boolean' then return tostring(value) end
  if kind == 'table' and (getmetatable(value) == nil or ordered.is(value)
    or getmetatable(value) == debug.getregistry()['rtrain.list']) then
    return encode_table(value, state, path, indent)
  end
  local digits = kind == 'cdata' and tostring(value):match '^(-?%d+)U?LL$'
  if digits then return digits end
  local class = require('base.class').of(value)
  errors.raise('argument', ('json.encode: %s is a %s: JSON has strings, numbers, booleans, lists and maps'):format(path,
    class and class.__name or kind))
end

---Returns the JSON text of plain data: strings, numbers, booleans, json.null, lists, maps (keys sorted; the keys of a
---base.ordered map in its order). An empty table is written as `{}`, or as `[]` if torch.list has marked it. NaN and
---Infinity are written as Python writes them. Python equivalent: json.dumps.
---@param value any
---@param options? {indent: integer} spaces for each level; default: one line
---@return string text
---Errors: 'argument' with the path of a value that is not plain data.
---
---```lua
---local json = require 'json'
---assert(json.encode {lr = 0.1, layers = {64, 10}, dropout = json.null} == '{"dropout": null, "layers": [64, 10], "lr": 0.1}')
---```
function json.encode(value, options)
  local step = args.options(options, {'indent'}, 'json.encode').indent
  if value == nil then errors.raise('argument', 'json.encode: nil is not in JSON: json.null is') end
  return encode_value(value, {step = step and (' '):rep(step), open = {}}, 'value', '')
end

return require 'base.namespace'('json', {}, json)
