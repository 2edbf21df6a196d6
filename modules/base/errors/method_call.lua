-- base/errors/method_call.lua: detects a method that was called with a dot, as in Python.
--
-- It runs only when an error is raised, so successful calls cost nothing.

local bytecode = require 'base.errors.bytecode'
local class = require 'base.class'
local frame = require 'base.errors.frame'

local method_call = {}

-- Number of inspected frames.
local MAX_FRAMES = 40
-- Values of a C function's frame that are searched for the object.
local C_SLOTS = 3

-- Tensors also have methods.
local function field(object, name)
  if type(object) == 'userdata' then return object[name] end
  return frame.field(object, name)
end

-- Returns whether the function is the object's method of that name: its class has it, and it has a `self`.
local function is_method(object, name, fn)
  local of = class.of(object)
  if of == nil then return type(object) == 'userdata' and rawequal(object[name], fn) end
  local is_checked = class.definition(fn) ~= fn  -- also a method that an object replaced, as step under a scheduler
  return rawequal(is_checked and object[name] or of[name], fn) and debug.getlocal(fn, 1) == 'self'
end

-- Returns the first values of a frame; `level` counts from the caller.
local function first_values(level, count)
  local values = {}
  for i = 1, count do values[i] = select(2, debug.getlocal(level + 1, i)) end
  return values
end

-- Returns whether the call passes an object of the method as first argument, so that the dot was intended.
local function has_self(object, values, is_c, running)
  for i = 1, is_c and C_SLOTS or 1 do
    if rawequal(values[i], object) then return true end
  end
  return class.of(values[1]) ~= nil and is_method(values[1], running.name, running.func)
end

-- Returns the message for the frame at the level, which `caller` has called by the name of a field.
local function message_of(level, running, caller)
  local is_c = debug.getinfo(running.func, 'S').what == 'C'
  local values, variables = first_values(level, C_SLOTS), frame.variables(level + 1)
  for _, owner in ipairs(bytecode.owners(caller.func, caller.currentline, running.name, variables, field)) do
    local object, text, arguments = unpack(owner)
    if is_method(object, running.name, running.func) and not has_self(object, values, is_c, running) then
      return ("'%s' is a method: write %s:%s(%s)"):format(running.name, text, running.name, arguments)
    end
  end
  -- For an object without a name: `nn.ReLU().forward(x)`. Other methods check their self.
  local is_unbound = running.name == 'forward' and debug.getlocal(running.func, 1) == 'self' and class.of(values[1]) == nil
  return is_unbound and "'forward' is a method: write module:forward(...)" or nil
end

---@param level integer of lua_getstack, as the C function that calls this one counts
---@return string? message nil if no frame is a method that was called with a dot
---@return string? position of the call, 'train.lua:12'
function method_call.find(level)
  for at = level + 2, level + 2 + MAX_FRAMES do
    local running, caller = debug.getinfo(at, 'nf'), debug.getinfo(at + 1, 'fSl')
    if caller == nil then return nil end
    if running.namewhat == 'field' and running.name and frame.is_script(caller.func) then
      local ok, message = pcall(message_of, at + 2, running, caller)  -- skips pcall and this function
      if ok and message then return message, ('%s:%d'):format(caller.short_src, caller.currentline) end
    end
  end
end

return method_call
