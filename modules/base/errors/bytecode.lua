-- base/errors/bytecode.lua: reads a function's bytecode: its calls, with their lines and the names that they call, and the
-- global variables that it uses.
--
-- Used for messages, and for what a plan of train.compile takes as given.

local instruction = require 'base.instruction'
local util = require 'jit.util'

local bytecode = {}

local opcode, target, operand = instruction.opcode, instruction.a, instruction.d

local CALL = opcode(function(f) f() end, 2)
local FIELD = opcode(function(t) return t.name end, 1)
local GLOBAL = opcode(function() return print end, 1)
local SET_GLOBAL = opcode(loadstring 'name = 1', 2)
local UPVALUE = opcode(function() return util end, 1)
local STRING = opcode(function() return 'text' end, 1)
local FUNCTION = opcode(function() return function() end end, 1)
-- Instructions that test whether their second operand is nil or false: if x, if not x, x and y, x or y, not x.
local TESTS = {
  [opcode(function(x, f) if x then f() end end, 1)] = true,
  [opcode(function(x, f) if not x then f() end end, 1)] = true,
  [opcode(function(x, y) return x and y end, 1)] = true,
  [opcode(function(x, y) return x or y end, 1)] = true,
  [opcode(function(x) return not x end, 1)] = true,
}
-- Instructions that compare their first operand with nil, false or true.
local COMPARES = {
  [opcode(function(x, f) if x == nil then f() end end, 1)] = true,
  [opcode(function(x, f) if x ~= nil then f() end end, 1)] = true,
}
-- Globals that can set other globals whose names are not in the code.
local SETTERS = {
  getfenv = true, setfenv = true, load = true, loadstring = true, loadfile = true, dofile = true, module = true,
}
-- Tail calls.
local LAST_CALLS = {
  [opcode(function(f) return f() end, 2)] = true,
  [opcode(function(f, ...) return f(...) end, 3)] = true,
}

---Returns the field that the instruction reads.
---@return string? name nil if it reads no field
---@return integer register of the object
local function field_of(fn, pc)
  if opcode(fn, pc) ~= FIELD then return nil, 0 end
  return util.funck(fn, -instruction.c(fn, pc) - 1), instruction.b(fn, pc)
end

-- Returns the kind of name by which the instruction reads a value ('field', 'global' or 'upvalue'), and the name.
local function read_of(fn, pc)
  local op = opcode(fn, pc)
  if op == FIELD then return 'field', (field_of(fn, pc)) end
  if op == GLOBAL then return 'global', util.funck(fn, -operand(fn, pc) - 1) end
  if op == UPVALUE then return 'upvalue', util.funcuvname(fn, operand(fn, pc)) end
end

-- Returns the last instruction before `pc` that has written the register; nil if the register is a parameter.
local function writer_of(fn, register, pc)
  for at = pc - 1, 1, -1 do
    if target(fn, at) == register then return at end
  end
end

---Returns the lines of the tail calls of a function, `return f(x)`, each with the names of the called functions (false
---for a call without a name).
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

-- Returns how an instruction uses the global that the instruction before has read: 'tested', 'unseen' if it can set
-- other globals, else nil.
local function use_of(fn, pc, name)
  local op, register = opcode(fn, pc + 1), target(fn, pc)
  if TESTS[op] and operand(fn, pc + 1) == register then return 'tested' end
  if COMPARES[op] and target(fn, pc + 1) == register then return 'tested' end
  if pc > 1 and select(2, read_of(fn, pc - 1)) == 'type' then return 'tested' end
  if name == '_G' then
    return not (field_of(fn, pc + 1) and select(2, field_of(fn, pc + 1)) == register) and 'unseen' or nil
  end
  return SETTERS[name] and 'unseen' or nil
end

-- Returns the module that `require` at an instruction is called with, also in pcall(require, 'name'); nil for a
-- computed name.
local function required_by(fn, pc)
  if opcode(fn, pc + 1) ~= STRING or not (opcode(fn, pc + 2) == CALL or LAST_CALLS[opcode(fn, pc + 2)]) then return nil end
  return util.funck(fn, -operand(fn, pc + 1) - 1)
end

-- Returns whether the function that an instruction makes is an argument of pcall.
local function is_protected(fn, pc)
  local name = pc > 1 and select(2, read_of(fn, pc - 1))
  return name == 'pcall' or name == 'xpcall'
end

local function add_global(fn, pc, found)
  local name, line = util.funck(fn, -operand(fn, pc) - 1), util.funcinfo(fn, pc).currentline
  local use = use_of(fn, pc, name)
  local module = name == 'require' and required_by(fn, pc)
  if module then
    table.insert(found.modules, module)
  elseif use == 'unseen' or name == 'require' then
    found.is_open = true
  elseif use == 'tested' then
    found.tested[name] = true
  end
  table.insert(found.read, {name, line})
end

local function add_globals(fn, found)
  for pc = 1, util.funcinfo(fn).bytecodes - 1 do
    local op = opcode(fn, pc)
    if op == GLOBAL then
      add_global(fn, pc, found)
    elseif op == SET_GLOBAL then
      found.set[util.funck(fn, -operand(fn, pc) - 1)] = true
    elseif op == FUNCTION and is_protected(fn, pc) then
      found.protected[util.funck(fn, -operand(fn, pc) - 1)] = true
    end
  end
  for i = 1, util.funcinfo(fn).gcconsts do
    local constant = util.funck(fn, -i)
    if type(constant) == 'proto' then
      local count = #found.read
      add_globals(constant, found)
      for at = count + 1, found.protected[constant] and #found.read or count do found.tested[found.read[at][1]] = true end
    end
  end
end

---Returns how the code of a function, and of functions in it, uses globals.
---@param fn function of Lua
---@return {read: {[1]: string, [2]: integer}[], set: table<string, true>, tested: table<string, true>, modules: string[],
---  is_open: boolean} found read: the names with their lines; set: the names that it sets; tested: the names that it
---  tests, or reads in a function passed to pcall; modules: the modules that it requires; is_open: whether it may also
---  set globals in ways that the code does not show
function bytecode.globals(fn)
  local found = {read = {}, set = {}, tested = {}, modules = {}, is_open = false, protected = {}}
  add_globals(fn, found)
  return found
end

-- Returns '...' if the value that the instruction has read is called with arguments, else ''.
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

-- Returns name and value of the variable that the register holds at `pc`, from the variables of a frame.
local function local_at(variables, register) return unpack(variables[register + 1] or {}) end

-- Returns the value in the register at `pc`, and its text in the script; nil if it comes from a call or an index.
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

---Returns the objects whose field of that name is read on a line: the value, its text in the script, the arguments of
---its call, and the field's name: {value, 'self.net', '...', 'forward'}.
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
