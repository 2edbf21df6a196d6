-- torch/optim/hooks.lua: lists of functions that run around an optimizer's steps and dictionaries.

local errors = require 'base.errors'
local handle = require 'base.handle'

local hooks = {}

local step_watcher

---From now on the function is called after each step of any optimizer of this process.
---@param fn? fun(optimizer: torch.optim.Optimizer) nil: none
function hooks.watch_steps(fn) step_watcher = fn end

---Adds a function to one of the object's lists.
---@param object table
---@param name string the list
---@param fn function
---@param prepend? boolean run it before those that are there
---@return {remove: fun()} handle
function hooks.add(object, name, fn, prepend)
  if type(fn) ~= 'function' then
    errors.raise('argument', ('a hook is a function, got %s'):format(type(fn)))
  end
  local all = object._hooks or {}
  object._hooks = all
  local list = all[name] or {}
  all[name] = list
  local entry = {fn}
  table.insert(list, prepend and 1 or #list + 1, entry)
  return handle(list, entry)
end

---Calls the functions of a list in order; what one returns takes the place of `value` for the next.
---@param object table
---@param name string
---@param value any
---@return any value
function hooks.run(object, name, value)
  if step_watcher and name == 'step_post' then step_watcher(object) end
  local list = object._hooks and object._hooks[name]
  if not list then return value end
  for _, entry in ipairs(list) do
    local replaced = entry[1](object, value)
    if replaced ~= nil then value = replaced end
  end
  return value
end

return hooks
