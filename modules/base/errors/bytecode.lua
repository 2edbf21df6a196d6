-- base/errors/bytecode.lua: what a function's code says about its calls: their lines, and the names that they call.
--
-- For messages alone. The instructions' numbers differ between versions of LuaJIT, so that each is read off a function that
-- has it.

local util = require 'jit.util'

local bytecode = {}

local function opcode(fn, pc) return bit.band(util.funcbc(fn, pc), 0xff) end

local function target(fn, pc) return bit.band(bit.rshift(util.funcbc(fn, pc), 8), 0xff) end

local function operand(fn, pc) return bit.rshift(util.funcbc(fn, pc), 16) end

local CALL = opcode(function(f) f() end, 2)
local FIELD = opcode(function(t) return t.name end, 1)
local GLOBAL = opcode(function() return print end, 1)
local SET_GLOBAL = opcode(loadstring 'name = 1', 2)
local UPVALUE = opcode(function() return util end, 1)
-- Of calls that end their function.
local LAST_CALLS = {
  [opcode(function(f) return f() end, 2)] = true,
  [opcode(function(f, ...) return f(...) end, 3)] = true,
}

---The field that the instruction reads.
---@return string? name nil when it reads none
---@return integer register of the object
local function field_of(fn, pc)
  if opcode(fn, pc) ~= FIELD then return nil, 0 end
  return util.funck(fn, -bit.band(operand(fn, pc), 0xff) - 1), bit.rshift(operand(fn, pc), 8)
end

-- What the instruction reads by a name: 'field', 'global' or 'upvalue', and the name.
local function read_of(fn, pc)
  local op = opcode(fn, pc)
  if op == FIELD then return 'field', (field_of(fn, pc)) end
  if op == GLOBAL then return 'global', util.funck(fn, -operand(fn, pc) - 1) end
  if op == UPVALUE then return 'upvalue', util.funcuvname(fn, operand(fn, pc)) end
end

-- The instruction before `pc` that has written the register; nil when it is a parameter.
local function writer_of(fn, register, pc)
  for at = pc - 1, 1, -1 do
    if target(fn, at) == register then return at end
  end
end

---Lines of the calls that the function ends with, `return f(x)`, each with the names called there (false where a call has
---none).
---@param fn function of Lua
---@return table<integer, (string|false)[]>
function bytecode.last_calls(fn)
  local lines = {}
  for pc = 1, util.funcinfo(fn).bytecodes - 1 do
    if LAST_CALLS[opcode(fn, pc)] then
      local line, read = util.funcinfo(fn, pc).currentline, writer_of(fn, target(fn, pc), pc)
      lines[line] = lines[line] or {}
      table.insert(lines[line], read and select(2, read_of(fn, read)) or false)
    end
  end
  return lines
end

---Calls see(name, line, is_set) for each global that the function and those in it read or set.
---@param fn function|userdata of Lua, or its prototype
---@param see fun(name: string, line: integer, is_set: boolean)
function bytecode.each_global(fn, see)
  for pc = 1, util.funcinfo(fn).bytecodes - 1 do
    local is_set = opcode(fn, pc) == SET_GLOBAL
    if is_set or opcode(fn, pc) == GLOBAL then
      see(util.funck(fn, -operand(fn, pc) - 1), util.funcinfo(fn, pc).currentline, is_set)
    end
  end
  for i = 1, util.funcinfo(fn).gcconsts do
    local constant = util.funck(fn, -i)
    if type(constant) == 'proto' then bytecode.each_global(constant, see) end
  end
end

-- '...' when what the instruction has read is called with arguments, '' without.
local function arguments_of(fn, read)
  for pc = read + 1, util.funcinfo(fn).bytecodes - 1 do
    local op = opcode(fn, pc)
    if target(fn, pc) == target(fn, read) and (op == CALL or LAST_CALLS[op]) then
      local count = bit.band(operand(fn, pc), 0xff) - 1
      return count == 0 and '' or '...'
    end
  end
  return '...'
end

-- The variable that the register holds at `pc`, from the variables a frame has: name, value.
local function local_at(variables, register) return unpack(variables[register + 1] or {}) end

-- The value in the register at `pc`, and how the script writes it; nil when it comes from a call or an index.
local function value_at(fn, register, pc, variables, field)
  local name, value = local_at(variables, register)
  if name then return value, name end
  local at = writer_of(fn, register, pc)
  local kind, read = nil, nil
  if at then kind, read = read_of(fn, at) end
  if kind == 'global' then return getfenv(fn)[read], read end
  if kind == 'upvalue' then
    local _, found = debug.getupvalue(fn, operand(fn, at) + 1)
    return found, read
  end
  if kind ~= 'field' then return nil end
  local owner, text = value_at(fn, select(2, field_of(fn, at)), at, variables, field)
  if owner == nil then return nil end
  return field(owner, read), text .. '.' .. read
end

---The objects whose field of that name is read on a line, each with the text the script has for it, its call's arguments and
---the field's name: {value, 'self.net', '...', 'forward'}.
---@param fn function of Lua
---@param line integer
---@param name? string nil: of any name
---@param variables {[1]: string, [2]: any}[] the names and values of the frame's local variables
---@param field fun(object: any, name: string): any reads a field without effects
---@return {[1]: any, [2]: string, [3]: string, [4]: string}[]
function bytecode.owners(fn, line, name, variables, field)
  local owners = {}
  for pc = 1, util.funcinfo(fn).bytecodes - 1 do
    local read, register = field_of(fn, pc)
    if read and (name == nil or read == name) and util.funcinfo(fn, pc).currentline == line then
      local value, text = value_at(fn, register, pc, variables, field)
      if value ~= nil then owners[#owners + 1] = {value, text, arguments_of(fn, pc), read} end
    end
  end
  return owners
end

return bytecode
