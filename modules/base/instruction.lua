-- base/instruction.lua: decodes a LuaJIT instruction: its opcode, and its operands A, B, C and D (B and C combined).
--
-- Opcodes differ between versions of LuaJIT, so each is read from a function that contains it.

local util = require 'jit.util'

local instruction = {}

---Returns the opcode of an instruction.
---@param fn function of Lua
---@param pc integer place of the instruction; 0 is the function's header
---@return integer
---
---```lua
---local instruction = require 'base.instruction'
---local function store(t, value) t.name = value end
---assert(instruction.opcode(store, 1) ~= instruction.opcode(store, 2) and instruction.a(store, 1) == 1)
---```
function instruction.opcode(fn, pc) return bit.band(util.funcbc(fn, pc), 0xff) end

---@param fn function of Lua
---@param pc integer
---@return integer
function instruction.a(fn, pc) return bit.band(bit.rshift(util.funcbc(fn, pc), 8), 0xff) end

---@param fn function of Lua
---@param pc integer
---@return integer
function instruction.b(fn, pc) return bit.rshift(util.funcbc(fn, pc), 24) end

---@param fn function of Lua
---@param pc integer
---@return integer
function instruction.c(fn, pc) return bit.band(bit.rshift(util.funcbc(fn, pc), 16), 0xff) end

---@param fn function of Lua
---@param pc integer
---@return integer
function instruction.d(fn, pc) return bit.rshift(util.funcbc(fn, pc), 16) end

return instruction
