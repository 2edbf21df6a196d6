-- torch/nn/module/written_order.lua: finds the place of a registered name in its list: `self.a, self.b = …` registers a
-- before b, as in Python, although Lua stores b first.

local assignment = require 'base.assignment'

local written_order = {}

-- The latest registration: the assigning function, its line, the name.
local latest = setmetatable({}, {__mode = 'v'})
-- List of names → index of the first name of the current assignment.
local first_of = setmetatable({}, {__mode = 'k'})

-- The function given to `written_order.watch`.
local on_store

---Sets a function that is called before each registration whose place in an assignment is unknown; nil removes it.
---@param fn? fun(list: string[], name: string)
function written_order.watch(fn) on_store = fn end

-- Returns the stack level of the function that assigns. Above it are place, enlist, Module's function, and perhaps a
-- __newindex of the class.
local function level_of_assignment(of)
  local caller = debug.getinfo(5, 'f')
  return caller and caller.func == of.__newindex and 5 or 4
end

---Called only by enlist of module/base.lua, which a function of Module calls.
---@param of table the module's class
---@param list string[] names in the order of registration
---@param name string name to register
---@return integer index before which the name belongs
function written_order.place(of, list, name)
  local level = level_of_assignment(of)
  local assigning = debug.getinfo(level, 'fl')
  local fn, line = assigning and assigning.func, assigning and assigning.currentline
  local is_same = fn ~= nil and fn == latest.fn and line == latest.line and assignment.joins(level, latest.name, name)
  if on_store and not is_same then on_store(list, name) end
  if not is_same then first_of = setmetatable({}, {__mode = 'k'}) end
  latest.fn, latest.line, latest.name = fn, line, name
  first_of[list] = first_of[list] or #list + 1
  return math.min(first_of[list], #list + 1)
end

return written_order
