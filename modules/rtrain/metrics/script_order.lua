-- rtrain/metrics/script_order.lua: finds the order in which a script writes the fields of a table, which Lua tables do
-- not keep.
--
-- The order is read from the bytecode of the calling function: each constructor `{epoch = epoch, loss = loss}` sets its
-- fields one by one, in the order of the text. Fields with constant values are set all at once and have no order.

local bit = require 'bit'
local jit_util = require 'jit.util'
local ordered = require 'base.ordered'

local MAX_CALLERS = 4

-- The opcode numbers differ between versions of LuaJIT, so they are read from functions that contain one such
-- instruction.
local function opcode(fn, pc) return bit.band((jit_util.funcbc(fn, pc)), 0xff) end
local SET_FIELD = opcode(function(t, v) t.a = v end, 1)
local NEW_TABLE = opcode(function() return {} end, 1)
local COPY_TABLE = opcode(function() return {a = 1} end, 1)

-- Returns lists of names, one for each table that the function creates or fills, in the order of its text.
local function constructors_in(fn)
  local lists, open = {}, {}
  local pc = 1
  while true do
    local instruction = jit_util.funcbc(fn, pc)
    if not instruction then return lists end
    local op, a = bit.band(instruction, 0xff), bit.band(bit.rshift(instruction, 8), 0xff)
    if op == NEW_TABLE or op == COPY_TABLE then
      open[a] = {}
      lists[#lists + 1] = open[a]
    elseif op == SET_FIELD then
      local object, constant = bit.rshift(instruction, 24), bit.band(bit.rshift(instruction, 16), 0xff)
      local name = jit_util.funck(fn, -constant - 1)
      if not open[object] then
        open[object] = {}
        lists[#lists + 1] = open[object]
      end
      table.insert(open[object], name)
    end
    pc = pc + 1
  end
end

local lists_of = setmetatable({}, {__mode = 'k'})  -- function → result of constructors_in

local function count_in(map, list)
  local count = 0
  for _, name in ipairs(list) do
    if map[name] ~= nil then count = count + 1 end
  end
  return count
end

-- Returns the lists of a function, best match first, and the number of names in the best list.
local function lists_for(fn, map)
  local lists = lists_of[fn]
  if not lists then
    lists = debug.getinfo(fn, 'S').what ~= 'C' and constructors_in(fn) or {}
    lists_of[fn] = lists
  end
  local best, most = nil, 0
  for _, list in ipairs(lists) do
    local count = count_in(map, list)
    if count > most then best, most = list, count end
  end
  return {best, unpack(lists)}, most
end

-- Returns the lists of the caller that knows most of the names. The table may come from a caller further up.
local function lists_of_callers(map, level)
  local found, most, all = {}, 0, 0
  for _ in next, map do all = all + 1 end
  for at = level + 1, level + MAX_CALLERS do
    local info = debug.getinfo(at, 'f')
    if not info or most == all then break end
    local lists, count = lists_for(info.func, map)
    if count > most then found, most = lists, count end
  end
  return found
end

local function is_plain(map)
  local first = next(map)
  return not getmetatable(map) and type(first) == 'string' and next(map, first) ~= nil
end

---Returns the table as an ordered map: the fields in the order of the script, followed by the others sorted by name.
---@param map table with names as keys; an ordered table, or one with other keys, is returned unchanged
---@param level integer level of the script's caller, as for error()
---@return table
---
---```lua
---local ordered, script_order = require 'base.ordered', require 'rtrain.metrics.script_order'
---local function names(map) return table.concat(ordered.keys(script_order(map, 2)), ' ') end
---local x = 1
---assert(names {loss = x, accuracy = x, epoch = x} .. '' == 'loss accuracy epoch')
---```
local function script_order(map, level)
  if not is_plain(map) then return map end
  local lists = lists_of_callers(map, level + 1)
  if #lists == 0 then return map end
  local out = ordered.new()
  for _, list in ipairs(lists) do
    for _, name in ipairs(list) do
      if rawget(out, name) == nil and map[name] ~= nil then out[name] = map[name] end
    end
  end
  for _, name in ipairs(ordered.keys_of(map)) do
    if rawget(out, name) == nil then out[name] = map[name] end
  end
  return out
end

return script_order
