-- base/assignment.lua: finds out which stores of a running function belong to one assignment.
--
-- Lua evaluates the right side of `t.a, t.b = x, y` from left to right, and stores from right to left: t.b is stored
-- first. Code that keeps the order of stores asks here whether a store belongs to the same assignment as the store
-- before; its field then stands to the left in the text.
--
-- The bytecode shows it. The stores of an assignment follow each other directly, and all except the first store a
-- temporary register; a separate statement computes its value first, or stores a local variable.

local instruction = require 'base.instruction'
local util = require 'jit.util'

local assignment = {}

-- Returns the opcode of the store in a function that contains only this store.
local function store_in(fn) return instruction.opcode(fn, 1) end

local kept  -- luacheck: ignore
local BY_NAME = store_in(function(t, value) t.name = value end)
local BY_VALUE = store_in(function(t, value, key) t[key] = value end)

-- Opcode of a store → the operand that is the register of the value.
local VALUE_OF = {
  [BY_NAME] = instruction.a,
  [BY_VALUE] = instruction.a,
  [store_in(function(t, value) t[1] = value end)] = instruction.a,
  [store_in(function(value) kept = value end)] = instruction.d,
  [store_in(function(here, value) here = value end)] = instruction.d,  -- luacheck: ignore here
}

-- Returns the registers of the function at a level, from 0: their values, and which are temporary.
local function registers_of(level)
  local values, is_temporary = {}, {}
  for slot = 1, 256 do
    local name, value = debug.getlocal(level + 1, slot)
    if name == nil then break end
    values[slot - 1], is_temporary[slot - 1] = value, name == '(*temporary)'
  end
  return values, is_temporary
end

local function is_store(fn, pc) return VALUE_OF[instruction.opcode(fn, pc)] ~= nil end

local function key_of(fn, pc, values)
  local opcode = instruction.opcode(fn, pc)
  if opcode == BY_NAME then return util.funck(fn, -instruction.c(fn, pc) - 1) end
  if opcode == BY_VALUE then return values[instruction.c(fn, pc)] end
end

-- Returns whether the stores that end at `pc` and reach back to one of `before` belong to one assignment.
local function follows(fn, pc, before, values, is_temporary)
  while pc > 1 and is_store(fn, pc) and is_temporary[VALUE_OF[instruction.opcode(fn, pc)](fn, pc)] do
    pc = pc - 1
    if is_store(fn, pc) and key_of(fn, pc, values) == before then return true end
  end
  return false
end

---Returns whether the function at a level of the stack is storing field `key` in the same assignment in which it has
---stored field `before`; `key` then stands to the left of `before` in the source.
---@param level integer as debug.getinfo counts: 1 is the caller
---@param before any
---@param key any
---@return boolean
---
---```lua
---local assignment = require 'base.assignment'
---local latest
---local left = {}
---local fields = setmetatable({}, {__newindex = function(_, key)
---  if latest and assignment.joins(2, latest, key) then left[#left + 1] = key .. ' < ' .. latest end
---  latest = key
---end})
---fields.a, fields.b = {}, {}
---fields.c = {}
---assert(table.concat(left, ' ') == 'a < b')
---```
function assignment.joins(level, before, key)
  local running = debug.getinfo(level + 1, 'fl')
  if not running or running.currentline <= 0 then return false end
  local fn = running.func
  local values, is_temporary = registers_of(level + 1)
  for pc = 1, util.funcinfo(fn).bytecodes - 1 do
    if key_of(fn, pc, values) == key and util.funcinfo(fn, pc).currentline == running.currentline
      and follows(fn, pc, before, values, is_temporary) then
      return true
    end
  end
  return false
end

return assignment
