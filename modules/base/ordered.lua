-- base/ordered.lua: a map that remembers the order in which its keys were added.
--
-- Values are in the table itself, so m[k] is as fast as in a plain table; the order is stored separately. Deleting a
-- key and adding it again moves it to the end. Code that writes a file, a message or a rank's view of a map must
-- iterate with items() or keys(), never with pairs.

local ordered = {}

-- map → {keys = array of keys (a hole is DELETED), position = key → index}
local order_of = setmetatable({}, {__mode = 'k'})
local DELETED = {}

local meta = {__name = 'base.ordered'}

-- The function given to `ordered.watch`.
local on_store

function meta.__newindex(map, key, value)
  if value == nil then return end
  if on_store then on_store(map, key) end
  local order = order_of[map]
  local stale = order.position[key]
  if stale then order.keys[stale] = DELETED end
  order.keys[#order.keys + 1] = key
  order.position[key] = #order.keys
  rawset(map, key, value)
end

-- Drops the keys that were deleted since the last iteration.
local function compact(map, order)
  local kept, position = {}, {}
  for _, key in ipairs(order.keys) do
    if key ~= DELETED and rawget(map, key) ~= nil then
      kept[#kept + 1] = key
      position[key] = #kept
    end
  end
  order.keys, order.position = kept, position
end

---Makes a map, filled from `pairs_list` in its order.
---@param pairs_list? any[][] array of {key, value}
---@return table map
---
---```lua
---local ordered = require 'base.ordered'
---local m = ordered.new{{'b', 1}, {'a', 2}}
---m.c = 3
---assert(table.concat(ordered.keys(m)) == 'bac')
---```
function ordered.new(pairs_list)
  local map = {}
  order_of[map] = {keys = {}, position = {}}
  setmetatable(map, meta)
  for _, pair in ipairs(pairs_list or {}) do map[pair[1]] = pair[2] end
  return map
end

---Returns whether the value is an ordered map.
---@param value any
---@return boolean
function ordered.is(value) return type(value) == 'table' and getmetatable(value) == meta end

---Returns a new list of the keys, in the order in which they were added.
---@param map table
---@return any[] keys
function ordered.keys(map)
  local order = order_of[map]
  compact(map, order)
  local keys = {}
  for i, key in ipairs(order.keys) do keys[i] = key end
  return keys
end

---Returns the keys of any table: in the order of an ordered map, else sorted by their text.
---@param map table
---@return any[] keys
function ordered.keys_of(map)
  if ordered.is(map) then return ordered.keys(map) end
  local keys = {}
  for key in next, map do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

---Returns the string keys of any table, in the order of keys_of.
---@param map table
---@return string[] names
function ordered.names_of(map)
  local names = {}
  for _, key in ipairs(ordered.keys_of(map)) do
    if type(key) == 'string' then names[#names + 1] = key end
  end
  return names
end

---Iterates over key, value in the order of addition. Keys may be deleted during the iteration; keys that are added in
---it are not visited.
---@param map table
---@return fun(): any, any
function ordered.items(map)
  local keys, i = ordered.keys(map), 0
  return function()
    local key, value
    repeat
      i = i + 1
      key = keys[i]
      value = rawget(map, key == nil and DELETED or key)
    until key == nil or value ~= nil
    return key, value
  end
end

---Returns the number of entries.
---@param map table
---@return integer
function ordered.len(map)
  local order = order_of[map]
  compact(map, order)
  return #order.keys
end

---Calls a function before each new key of any map, until it is called with nil.
---@param fn? fun(map: table, key: any)
function ordered.watch(fn) on_store = fn end

meta.__order = ordered.keys

function meta.__tostring(map) return require 'base.table_text'(map) end

function meta.__pack(map)
  local keys, values = ordered.keys(map), {}
  for i, key in ipairs(keys) do values[i] = map[key] end
  return 'base.ordered', 'unpack', {keys = keys, values = values}
end

---Rebuilds a map from a result of `__pack`, when a map was sent to another process or thread.
---@param state {keys: any[], values: any[]}
---@return table map
function ordered.unpack(state)
  local map = ordered.new()
  for i, key in ipairs(state.keys) do map[key] = state.values[i] end
  return map
end

return ordered
