-- torch/nn/container.lua: Sequential, ModuleList, ModuleDict.
--
-- Lists keep their modules at the integer keys 1…n of the table itself, so that `#list`, `ipairs(list)` and
-- `list[i]` work, and copy them to the names '0', '1', … of state_dict before anything walks the module.

local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local ordered = require 'rtrain.ordered'
local Module = require('torch.nn.module').Module

local List = Module:extend('List')

local function check_module(self, value)
  if class.is(value, Module) then return end
  errors.raise('argument', ('%s: nn.Module expected, got %s'):format(class.of(self).__name, type(value)))
end

function List.__index(self, name)
  if name == 0 then
    errors.raise('argument', ('%s counts from 1: the first module is [1]'):format(class.of(self).__name))
  end
  return Module.__index(self, name)
end

function List.__newindex(self, name, value)
  if type(name) ~= 'number' then return Module.__newindex(self, name, value) end
  if name ~= #self + 1 then
    errors.raise('argument', ('%s has %d modules: index %s is not one of them, nor the next'):format(
      class.of(self).__name, #self, tostring(name)))
  end
  check_module(self, value)
  self:add_module(tostring(#self), value)
  rawset(self, name, value)
end

function List:_sync()
  for i, name in ipairs(rawget(self, '_modules')) do
    local module = rawget(self, i)
    check_module(self, module)
    self._fields[name] = module
  end
end

---Adds a module at the end.
---@param module nn.Module
---@return nn.Module self
function List:append(module)
  self[#self + 1] = module
  return self
end

---@return integer
function List:len() return #self end

---Modules that are applied one after the other.
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
---assert(#net == 3 and net(torch.ones(1, 4)).shape[2] == 2)
---assert(net:state_dict()['2.weight'].shape[1] == 2)
---```
---@class nn.Sequential: nn.Module
---@overload fun(...: nn.Module): nn.Sequential
local Sequential = List:extend('Sequential')

---@param ... nn.Module modules, one list of modules, or an rtrain.ordered map of named ones
function Sequential:init(...)
  local first = ...
  if ordered.is(first) then
    for name, module in ordered.items(first) do
      check_module(self, module)
      self:add_module(name, module)
      rawset(self, #self + 1, module)
    end
    return
  end
  local list = {...}
  if select('#', ...) == 1 and type(first) == 'table' and not class.of(first) then list = first end
  for _, module in ipairs(list) do self:append(module) end
end

function Sequential:forward(x)
  for i = 1, #self do x = self[i](x) end
  return x
end

---A list of modules; it has no forward of its own.
---
---```lua
---local nn = require 'torch.nn'
---local layers = nn.ModuleList{nn.Linear(2, 2), nn.Linear(2, 2)}
---layers:append(nn.ReLU())
---assert(#layers == 3 and #layers:parameters() == 4)
---```
---@class nn.ModuleList: nn.Module
---@overload fun(modules?: nn.Module[]): nn.ModuleList
local ModuleList = List:extend('ModuleList')
ModuleList._merges_equal_children = true

---@param modules? nn.Module[]
function ModuleList:init(modules)
  for _, module in ipairs(modules or {}) do self:append(module) end
end

---Adds all modules of a list. On the class: `ModuleList:extend('Name')` makes a subclass.
---@param modules nn.Module[]|string
---@return nn.Module
function ModuleList:extend(modules)
  if class.is_class(self) then return class.extend(self, modules) end
  for _, module in ipairs(modules) do self:append(module) end
  return self
end

---Modules by name, in the order in which they were added: `dict['name']`.
---
---```lua
---local nn = require 'torch.nn'
---local heads = nn.ModuleDict{{'a', nn.Linear(2, 2)}, {'b', nn.Linear(2, 3)}}
---assert(heads['b'].out_features == 3 and table.concat(heads:keys(), ' ') == 'a b')
---```
---@class nn.ModuleDict: nn.Module
---@overload fun(modules?: any[][]): nn.ModuleDict
local ModuleDict = Module:extend('ModuleDict')

---@param modules? any[][] list of {name, module}, or an rtrain.ordered map
function ModuleDict:init(modules)
  local map = ordered.is(modules) and modules or ordered.new(modules)
  if type(modules) == 'table' and not ordered.is(modules) and #modules == 0 and next(modules) ~= nil then
    errors.raise('argument', "ModuleDict: a Lua table has no order: pass a list {{'name', module}, …}")
  end
  for name, module in ordered.items(map) do self:add_module(name, module) end
end

---@return string[]
function ModuleDict:keys()
  local keys = {}
  for name in self:named_children() do keys[#keys + 1] = name end
  return keys
end

---@return nn.Module[]
function ModuleDict:values() return self:children() end

---Iterates over name, module.
---@return fun(): string, nn.Module
function ModuleDict:items() return self:named_children() end

---@return integer
function ModuleDict:len() return #self:keys() end

return {Sequential = Sequential, ModuleList = ModuleList, ModuleDict = ModuleDict}
