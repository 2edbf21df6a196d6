-- torch/nn/module/unregistered.lua: warns of modules and parameters in plain tables, which optimizers would not see.

local class = require 'base.class'
local parameter = require 'torch.nn.parameter'
local warnings = require 'base.warnings'

---@class nn.Module
local Module = require 'torch.nn.module.base'

-- Depth of nested tables that are searched.
local MAX_DEPTH = 3

local function is_plain(value) return type(value) == 'table' and getmetatable(value) == nil end

-- Counts the modules with parameters, and the parameters, that are in the table and not registered.
local function count_in(value, registered, depth)
  local modules, parameters = 0, 0
  -- The order is irrelevant for counting.
  for _, item in next, value do
    if class.is(item, Module) then
      if not registered[item] and #item:parameters() > 0 then modules = modules + 1 end
    elseif parameter.is_parameter(item) then
      if not registered[item] then parameters = parameters + 1 end
    elseif depth < MAX_DEPTH and is_plain(item) then
      local more_modules, more_parameters = count_in(item, registered, depth + 1)
      modules, parameters = modules + more_modules, parameters + more_parameters
    end
  end
  return modules, parameters
end

local function names_of_tables(module)
  local names = {}
  for name, value in next, module._fields do
    if type(name) == 'string' and name:sub(1, 1) ~= '_' and is_plain(value) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function warn_of(module, name, registered)
  local modules, parameters = count_in(module._fields[name], registered, 1)
  if modules + parameters == 0 then return end
  warnings.warn(('%s.%s is a table with %d %s: in a plain table they are neither trained nor saved; use %s'):format(
    class.of(module).__name, name, modules > 0 and modules or parameters, modules > 0 and 'modules' or 'parameters',
    modules > 0 and 'nn.ModuleList or nn.ModuleDict' or 'nn.ParameterList'))
end

---Checks the fields of modules.
---@param modules nn.Module[] the outermost module and the modules below it
return function(modules)
  local registered
  for _, module in ipairs(modules) do
    for _, name in ipairs(names_of_tables(module)) do
      if not registered then
        registered = {}
        for _, each in ipairs(modules) do
          registered[each] = true
          for _, tensor in each:_own '_parameters' do registered[tensor] = true end
        end
      end
      warn_of(module, name, registered)
    end
  end
end
