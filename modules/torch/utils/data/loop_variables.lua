-- torch/utils/data/loop_variables.lua: detects Python's form of a loop over a loader: `for batch in loader do`, then
-- batch[1], batch[2].
--
-- A loader yields several values; a loop with one variable gets only the first of them, and indexing it takes rows.

local instruction = require 'base.instruction'
local util = require 'jit.util'
local warnings = require 'base.warnings'

local loop_variables = {}

local function walk(next_value, state, first)
  for value in next_value, state, first do state[1] = value end
end

-- The opcodes, read from such a loop: its body begins after a jump.
local INDEX = instruction.opcode(function(t) return t[1] end, 1)
local CALL_NEXT, LOOP_BACK
for pc = 1, util.funcinfo(walk).bytecodes - 2 do CALL_NEXT, LOOP_BACK = LOOP_BACK, instruction.opcode(walk, pc) end

-- Returns where the loop on that line calls its iterator, and where its body begins; nil if the line has several loops,
-- or none.
local function loop_on(fn, line)
  local found
  for pc = 1, util.funcinfo(fn).bytecodes - 2 do
    if instruction.opcode(fn, pc) == CALL_NEXT and instruction.opcode(fn, pc + 1) == LOOP_BACK
      and util.funcinfo(fn, pc).currentline == line then
      if found then return nil end
      found = pc
    end
  end
  return found, found and found + 2 + instruction.d(fn, found + 1) - 0x8000
end

-- Returns whether the body indexes the loop's only variable with two consecutive numbers, like a list.
local function indexes_as_list(fn, line)
  local call, body = loop_on(fn, line)
  if not call or instruction.b(fn, call) ~= 2 then return false end
  local variable, indices = instruction.a(fn, call), {}
  for pc = body, call - 1 do
    if instruction.opcode(fn, pc) == INDEX and instruction.b(fn, pc) == variable then indices[instruction.c(fn, pc)] = true end
  end
  return indices[1] and (indices[0] or indices[2]) or false
end

---Returns the lines of a loop over an iterator: from its first line to its last one.
---@param fn function that has the loop
---@param line integer where it calls its iterator
---@return {func: function, first: integer, last: integer}|nil lines nil if the line has several loops, or none
function loop_variables.lines(fn, line)
  if type(fn) ~= 'function' or line <= 0 then return nil end
  local call, body = loop_on(fn, line)
  if not call then return nil end
  local last = line
  for pc = body, call do last = math.max(last, util.funcinfo(fn, pc).currentline) end
  return {func = fn, first = line, last = last}
end

---Warns if the loop that requests a first batch has one variable for several values and uses it as a list.
---@param level integer of the function with the loop, as debug.getinfo counts: 1 is the caller
---@param count integer number of values of a batch
function loop_variables.check(level, count)
  if count < 2 then return end
  local running = debug.getinfo(level + 1, 'fl')
  if not running or running.currentline <= 0 or not indexes_as_list(running.func, running.currentline) then return end
  warnings.warn(('this loop has one variable, and a batch is %d values: batch[1] is a row of the first one. Write for x, y in '
    .. 'loader do'):format(count))
end

return loop_variables
