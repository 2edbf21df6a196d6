-- base/table_text.lua: formats a table for print: its contents in Lua syntax.

local ordered = require 'base.ordered'

local LINE_LENGTH = 100
local MAX_DEPTH = 8
-- Of a longer table only the first items are shown.
local MAX_ITEMS = 100

local text_of

local function is_plain(value)
  local of = getmetatable(value)
  local registry = debug.getregistry()
  return of == nil or ordered.is(value) or of == registry['rtrain.list'] or of == registry['rtrain.intmap']
end

local function key_text(key)
  if type(key) == 'string' and key:match '^[%a_][%w_]*$' then return key end
  return ('[%s]'):format(type(key) == 'string' and ("'%s'"):format(key) or tostring(key))
end

-- Returns 'key = value', with the later lines of a long value below its first line.
local function entry_text(key, value, seen)
  local start = key == nil and '' or key_text(key) .. ' = '
  local text = text_of(value, seen)
  local indent = type(value) == 'table' and '' or (' '):rep(#start)
  return start .. text:gsub('\n', '\n' .. indent)
end

-- Returns the items of the list, then the other keys in order.
local function entries_of(value, seen)
  local entries, count = {}, 0
  local function add(key, item)
    count = count + 1
    if count <= MAX_ITEMS then entries[count] = entry_text(key, item, seen) end
  end
  local length = ordered.is(value) and 0 or #value
  for i = 1, length do add(nil, value[i]) end
  for _, key in ipairs(ordered.keys_of(value)) do
    local is_item = type(key) == 'number' and key >= 1 and key <= length and key % 1 == 0
    if not is_item then add(key, rawget(value, key)) end
  end
  if count > MAX_ITEMS then entries[MAX_ITEMS + 1] = ('… %d more'):format(count - MAX_ITEMS) end
  return entries
end

local function contents_text(value, seen)
  if seen[value] or seen.depth >= MAX_DEPTH then return '{…}' end
  seen[value], seen.depth = true, seen.depth + 1
  local entries = entries_of(value, seen)
  seen[value], seen.depth = nil, seen.depth - 1
  local line = '{' .. table.concat(entries, ', ') .. '}'
  if #line <= LINE_LENGTH and not line:find '\n' then return line end
  for i, entry in ipairs(entries) do entries[i] = '  ' .. entry:gsub('\n', '\n  ') end
  return '{\n' .. table.concat(entries, ',\n') .. '\n}'
end

function text_of(value, seen)
  if type(value) == 'string' then return ("'%s'"):format(value) end
  if type(value) == 'table' and is_plain(value) then return contents_text(value, seen) end
  return tostring(value)
end

---Returns a table's contents in Lua syntax; objects that have a text of their own, such as tensors, appear as print
---shows them.
---@param value table
---@return string
---
---```lua
---local table_text = require 'base.table_text'
---assert(table_text{loss = 0.5, epoch = 3, sizes = {2, 3}} == '{epoch = 3, loss = 0.5, sizes = {2, 3}}')
---```
return function(value) return contents_text(value, {depth = 0}) end
