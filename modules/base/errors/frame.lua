-- base/errors/frame.lua: reads the variables of a script's frames, for messages. Has no side effects.

local class = require 'base.class'

local frame = {}

---Returns whether a function belongs to the script: it is neither a C function nor one of rtrain's.
---@param fn function
---@return boolean
function frame.is_script(fn)
  local info = debug.getinfo(fn, 'S')
  return info.what ~= 'C' and info.source:sub(1, 10) ~= '@rtrain://'
end

---Returns the local variables of a running frame.
---@param level integer as for debug.getlocal in the function that calls this one
---@return any[][] variables each {name, value}
function frame.variables(level)
  local variables = {}
  for i = 1, math.huge do
    local name, value = debug.getlocal(level + 1, i)
    if name == nil or name == '(*temporary)' then return variables end
    variables[i] = {name, value}
  end
end

---Returns the value that an object has under a name. For tables that are not rtrain's objects, only their raw fields
---are read: a namespace may load a module, or raise an error, when it is indexed.
---@param object any
---@param name string
---@return any value nil if it has no such field
function frame.field(object, name)
  if class.of(object) or class.is_class(object) then return object[name] end
  return type(object) == 'table' and rawget(object, name) or nil
end

return frame
