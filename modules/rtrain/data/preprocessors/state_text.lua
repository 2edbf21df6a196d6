-- rtrain/data/preprocessors/state_text.lua: the state of a preprocessor as JSON, without a loss.
--
-- JSON has no NaN, no infinities, no int64 beyond 2^53 and no bytes that are not UTF-8. Each of these is an object with
-- one name that begins with '$', and so is a map with such a name.

local errors = require 'base.errors'
local is_list = require 'base.is_list'
local number = require 'base.number'
local ordered = require 'base.ordered'
local system = require 'base._system'
local torch = require 'torch'

local state_text = {}

local SPECIAL = {nan = 0 / 0, inf = math.huge, ['-inf'] = -math.huge}

local function special_name(value)
  if value ~= value then return 'nan' end
  return value == math.huge and 'inf' or value == -math.huge and '-inf' or nil
end

local function hex_of(bytes) return (bytes:gsub('.', function(c) return ('%02x'):format(c:byte()) end)) end

local function bytes_of(hex)
  return (hex:gsub('%x%x', function(pair) return string.char(tonumber(pair, 16)) end))
end

-- Returns whether a text is UTF-8, by the lengths of its characters.
local function is_utf8(text)
  if not text:find '[\128-\255]' then return true end
  local rest = text:gsub('[%z\1-\127]', ''):gsub('[\194-\223][\128-\191]', ''):gsub('\224[\160-\191][\128-\191]', '')
    :gsub('[\225-\236\238\239][\128-\191][\128-\191]', ''):gsub('\237[\128-\159][\128-\191]', '')
    :gsub('\240[\144-\191][\128-\191][\128-\191]', ''):gsub('[\241-\243][\128-\191][\128-\191][\128-\191]', '')
    :gsub('\244[\128-\143][\128-\191][\128-\191]', '')
  return rest == ''
end

local packed

-- The names of the state itself keep their order; those of the maps in it are sorted.
local function packed_map(map, depth)
  local keys, is_plain = ordered.keys_of(map), true
  if depth > 0 then table.sort(keys) end
  local out, entries = ordered.new(), {}
  for i, key in ipairs(keys) do
    is_plain = is_plain and key:sub(1, 1) ~= '$' and is_utf8(key)
    local value = packed(map[key], depth + 1)
    out[key], entries[i] = value, torch.list{packed(key, depth), value}
  end
  return is_plain and out or {['$map'] = torch.list(entries)}
end

function packed(value, depth)
  local kind = type(value)
  if value == torch.none then return {['$none'] = true} end
  if kind == 'number' and special_name(value) then return {['$number'] = special_name(value)} end
  if kind == 'cdata' then return {['$int'] = number.text(value)} end
  if kind == 'string' and not is_utf8(value) then return {['$bytes'] = hex_of(value)} end
  if kind ~= 'table' then return value end
  if ordered.is(value) or not is_list(value) then return packed_map(value, depth) end
  local out = {}
  for i, item in ipairs(value) do out[i] = packed(item, depth) end
  return torch.list(out)
end

local READERS = {
  ['$none'] = function() return torch.none end,
  ['$number'] = function(name) return SPECIAL[name] end,
  ['$int'] = number.read,
  ['$bytes'] = bytes_of,
}

local unpacked

READERS['$map'] = function(entries)
  local out = ordered.new()
  for _, entry in ipairs(entries) do out[unpacked(entry[1])] = unpacked(entry[2]) end
  return out
end

function unpacked(value)
  if type(value) ~= 'table' or value == torch.none then return value end
  local name = next(value)
  if type(name) == 'string' and READERS[name] then return READERS[name](value[name]) end
  local out = {}
  for key, item in next, value do out[key] = unpacked(item) end
  return out
end

---Returns a state as JSON.
---@param state table plain data
---@return string
function state_text.of(state) return system.to_json(packed(state, 0)) end

---Returns the state of a text of `of`.
---@param text string
---@return table state
---Errors: 'checkpoint' if it is not JSON.
function state_text.read(text)
  local ok, value = pcall(system.from_json, text)
  if ok and type(value) == 'table' then return unpacked(value) end
  errors.raise('checkpoint', 'deserialize: expected the text of a preprocessor\'s serialize()')
end

return state_text
