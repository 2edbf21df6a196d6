-- base/errors/tail_call.lua: finds the line of a tail call.
--
-- `return f(x)` removes the frame of its function, so an error inside f shows the line of that function's caller. The
-- caller's frame still shows the function's name, and the function's code shows the lines of its tail calls.

local bytecode = require 'base.errors.bytecode'
local class = require 'base.class'
local frame = require 'base.errors.frame'

local tail_call = {}

-- Returns the only line for which `fits` holds; nil if it holds for no line or for several.
local function only_line(lines, fits)
  local found
  for line, names in next, lines do
    if fits(names) then
      if found then return nil end
      found = line
    end
  end
  return found
end

-- Calls see(name, value) for the variables visible in the frame's function; later ones hide earlier ones.
local function each_variable(level, fn, see)
  for i = 1, math.huge do
    local name, value = debug.getupvalue(fn, i)
    if name == nil then break end
    see(name, value)
  end
  for i = 1, math.huge do
    local name, value = debug.getlocal(level + 1, i)
    if name == nil then break end
    see(name, value)
  end
end

-- Returns the functions that `name` may mean in the caller's frame, as a set, and the objects that have a method of
-- that name.
local function meant(level, caller, name, kind)
  local functions, owners = {}, {}
  if kind == 'global' then functions[getfenv(caller)[name] or false] = true end
  local variable
  each_variable(level + 1, caller, function(known, value)
    if known == name then variable = value end
    local ok, method = pcall(frame.field, value, name)
    if ok and type(method) == 'function' and (kind == 'method' or kind == 'field') then
      functions[class.definition(method)] = true
      owners[#owners + 1] = value
    end
  end)
  if kind == 'local' or kind == 'upvalue' then functions[variable or false] = true end
  return functions, owners
end

-- Returns the user's function that the caller's frame has called, unless its frame still exists.
local function ended_function(functions, running)
  local found
  if functions[running] then return nil end
  for fn in next, functions do
    if type(fn) == 'function' and frame.is_script(fn) then
      if found then return nil end
      found = fn
    end
  end
  return found
end

---Returns the place of the tail call that ended the function between the frame at a level and the frame that called it.
---@param level integer of lua_getstack, as the C function that calls this one counts
---@param operation string the operation that failed; it distinguishes the calls of the function; '' if unknown
---@return string? position 'train.lua:12'; nil if no function is missing between them, or if its line is unknown
---@return string? name of the function that has ended
function tail_call.find(level, operation)
  local at = level + 2
  local running, caller = debug.getinfo(at, 'nf'), debug.getinfo(at + 1, 'f')
  if running == nil or caller == nil or running.name == nil then return nil end
  if debug.getinfo(caller.func, 'S').what == 'C' then return nil end
  local functions, owners = meant(at + 1, caller.func, running.name, running.namewhat)
  local fn = ended_function(functions, running.func)
  if fn == nil then return nil end
  local _, argument = debug.getlocal(at, 1)
  local function fits(names)
    for _, name in ipairs(names) do
      if name == operation then return true end
      for _, owner in ipairs(owners) do
        local ok, called = pcall(frame.field, owner, name)
        if ok and called ~= nil and rawequal(called, argument) then return true end
      end
    end
    return false
  end
  local lines = bytecode.last_calls(fn)
  local line = only_line(lines, function() return true end) or only_line(lines, fits)
  if line == nil then return nil end
  return ('%s:%d'):format(debug.getinfo(fn, 'S').short_src, line), running.name
end

return tail_call
