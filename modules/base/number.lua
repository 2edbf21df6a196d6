-- base/number.lua: numbers, including LuaJIT's int64 and uint64 objects for integers beyond 2^53.

local number = {}

---Returns a number, or an int64 or uint64 object, as a Lua number; it is rounded beyond 2^53.
---@param value any
---@return number|nil number nil for anything else
---
---```lua
---local number = require 'base.number'
---assert(number.of(5LL) == 5 and number.of(0.5) == 0.5 and number.of '5' == nil)
---```
function number.of(value)
  if type(value) == 'number' then return value end
  return type(value) == 'cdata' and tostring(value):find 'LL$' and tonumber(value) or nil
end

---Returns the digits of an int64 or uint64 object, without LuaJIT's suffix LL; for other values the result of tostring.
---@param value any
---@return string
function number.text(value)
  local text = tostring(value)
  return type(value) == 'cdata' and text:match '^(-?%d+)U?LL$' or text
end

---Returns whether a Lua number represents the value exactly.
---@param value number|ffi.cdata*
---@return boolean
function number.is_exact(value)
  return type(value) == 'number' or ('%.0f'):format(tonumber(value)) == number.text(value)
end

local MOST_INT64, MOST_UINT64 = '9223372036854775807', '18446744073709551615'

-- Compares two decimal numbers as strings of digits without leading zeros.
local function is_up_to(digits, most) return #digits < #most or #digits == #most and digits <= most end

---Converts a text to a number as tonumber does; an integer beyond 2^53 becomes an int64 or uint64 object.
---@param text string
---@return number|ffi.cdata*|nil number nil if the text is not a number
---
---```lua
---local number = require 'base.number'
---assert(number.read '0.5' == 0.5 and number.read '9007199254740993' == 9007199254740993LL)
---```
function number.read(text)
  local value = tonumber(text)
  if value == nil or math.abs(value) < 2 ^ 53 then return value end
  local sign, digits = text:match '^%s*([+-]?)0*(%d+)%s*$'
  if not digits then return value end
  if is_up_to(digits, MOST_INT64) then return loadstring(('return %s%sLL'):format(sign == '-' and '-' or '', digits))() end
  if sign == '-' or not is_up_to(digits, MOST_UINT64) then return value end
  return loadstring(('return %sULL'):format(digits))()
end

return number
