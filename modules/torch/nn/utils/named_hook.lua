-- torch/nn/utils/named_hook.lua: finds the forward pre-hook of a class for a given weight.

local class = require 'base.class'
local errors = require 'base.errors'

local named_hook = {}

---Returns the list and the index of the module's hook of that class and name.
---@param module nn.Module
---@param of table class of the hook; its field `name` is the weight
---@param name string
---@return table[]|nil list
---@return integer|nil index
function named_hook.find(module, of, name)
  local hooks = module._fields._hooks
  for i, entry in ipairs(hooks and hooks.before or {}) do
    if class.is(entry.fn, of) and entry.fn.name == name then return hooks.before, i end
  end
end

---Removes the hook from the module and returns it.
---@param module nn.Module
---@param of table
---@param name string
---@param what string description of the hook, for the message
---@return any hook
function named_hook.take(module, of, name, what)
  local list, index = named_hook.find(module, of, name)
  if not list then errors.raise('argument', ("%s of '%s' not found in %s"):format(what, name, tostring(module))) end
  return table.remove(list, index).fn
end

return named_hook
