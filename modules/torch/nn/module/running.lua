-- torch/nn/module/running.lua: names the module in whose forward an error was raised: 'in Net.fc2 (Linear)'.

local class = require 'base.class'
local Module = require 'torch.nn.module.base'

-- Returns the modules that are being called, outermost first. `level` counts from the caller of this function.
local function running_modules(level)
  local modules = {}
  for at = level + 1, math.huge do
    local frame = debug.getinfo(at, 'f')
    if frame == nil then return modules end
    local name, object = debug.getlocal(at, 1)
    local is_call = name == 'self' and class.is(object, Module) and
      (frame.func == Module.__call or frame.func == class.definition(object.forward))
    if is_call and not rawequal(object, modules[1]) and not object._is_wrapper then table.insert(modules, 1, object) end
  end
end

-- Returns the child's name below the module as in state_dict; nil if it is not part of the module.
local function path_below(module, child)
  for name, found in module:named_modules() do
    if rawequal(found, child) and name ~= '' then return name end
  end
end

local function name_of(module) return class.of(module).__name end

---Returns the text of an error about the modules that were being called: errors.context.
---@param level integer of lua_getstack, as the C function that calls this one counts
---@return string? text
return function(level)
  local modules = running_modules(level + 2)
  local last = modules[#modules]
  if last == nil then return nil end
  local label = name_of(modules[1])
  for i = 2, #modules do
    local path = path_below(modules[i - 1], modules[i])
    label = path and label .. '.' .. path or name_of(modules[i])
  end
  return label == name_of(last) and 'in ' .. label or ('in %s (%s)'):format(label, name_of(last))
end
