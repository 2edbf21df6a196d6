-- torch/nn/container.lua: Sequential, ModuleList, ModuleDict.

local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local List = require 'torch.nn.list'
local Module = require('torch.nn.module').Module

local function check_module(self, value, index)
  if class.is(value, Module) then return value end
  errors.raise('argument', ('%s: nn.Module expected%s, got %s'):format(class.of(self).__name,
    index and (' as item %d'):format(index) or '', type(value)))
end

---Modules that are applied one after the other. Python's list operations are append, extend, insert, pop (counted from 1)
---and slice; `a + b` concatenates two, `a * n` repeats one with the same modules.
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
---assert(#net == 3 and net(torch.ones(1, 4)).shape[2] == 2)
---assert(net:state_dict()['2.weight'].shape[1] == 2)
---net:insert(3, nn.Dropout(0.1))
---assert(#net:slice(1, 2) == 2 and net:pop().out_features == 2 and #net == 3)
---local named = nn.Sequential{{'hidden', nn.Linear(4, 8)}, {'act', nn.ReLU()}}
---assert(named.hidden.out_features == 8 and torch.keys(named:state_dict())[1] == 'hidden.weight')
---```
---@class nn.Sequential: nn.Module
---@overload fun(...: nn.Module): nn.Sequential
local Sequential = List:extend('Sequential')

Sequential._checked = check_module

-- Returns whether a list contains {name, module} instead of modules: OrderedDict's argument.
local function is_named(list)
  local first = list[1]
  return type(first) == 'table' and not class.of(first) and type(first[1]) == 'string'
end

local function check_pair(pair, index)
  local fits = type(pair) == 'table' and not class.of(pair) and type(pair[1]) == 'string' and #pair == 2
  if not fits then errors.raise('argument', ("Sequential: item %d is not {'name', module}"):format(index)) end
end

---@param ... nn.Module modules, one list of modules, a list of {name, module}, or a base.ordered map of named modules
function Sequential:init(...)
  local first = ...
  if select('#', ...) == 1 and type(first) == 'table' and not class.of(first) and is_named(first) then
    for i, pair in ipairs(first) do check_pair(pair, i) end
    first = ordered.new(first)
  end
  if ordered.is(first) then
    for name, module in ordered.items(first) do self:_append_named(name, module) end
    return
  end
  if select('#', ...) == 1 and type(first) == 'table' and not class.of(first) then return self:extend(first) end
  local list = {...}
  for i = 1, select('#', ...) do self:append(list[i]) end
end

function Sequential:_name_in_slice(index) return self._item_names[index] end

function Sequential:forward(...)
  local count = #self
  if count <= 1 then
    if count == 0 then return ... end
    return self[1](...)
  end
  local x = self[1](...)
  for i = 2, count - 1 do x = self[i](x) end
  return self[count](x)
end

function Sequential.__add(left, right)
  if not class.is(left, Sequential) or not class.is(right, Sequential) then
    errors.raise('argument', 'only a Sequential can be added to a Sequential')
  end
  return Sequential():extend(left):extend(right)
end

function Sequential.__mul(left, right)
  local list, times = left, right
  if type(left) == 'number' then list, times = right, left end
  if type(times) ~= 'number' or times < 1 or times % 1 ~= 0 then
    errors.raise('argument', ('a Sequential is repeated a positive number of times, not %s'):format(tostring(times)))
  end
  local out = Sequential()
  for _ = 1, times do out:extend(list) end
  return out
end

---A list of modules; it has no forward of its own. Its operations are Sequential's.
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
ModuleList._checked = check_module

---@param modules? nn.Module[]
function ModuleList:init(modules) self:extend(modules or {}) end

function ModuleList.__add(left, right) return ModuleList():extend(left):extend(right) end

---Modules by name, in the order in which they were added: `dict['name']`.
---
---```lua
---local nn = require 'torch.nn'
---local heads = nn.ModuleDict{{'a', nn.Linear(2, 2)}, {'b', nn.Linear(2, 3)}}
---assert(heads['b'].out_features == 3 and table.concat(heads:keys(), ' ') == 'a b')
---assert(heads:pop('a').out_features == 2 and heads:len() == 1)
---```
---@class nn.ModuleDict: nn.Module
---@overload fun(modules?: any[][]): nn.ModuleDict
local ModuleDict = Module:extend('ModuleDict')

---@param modules? any[][] list of {name, module}, or a base.ordered map
function ModuleDict:init(modules)
  if modules ~= nil then self:update(modules) end
end

---Adds or replaces modules.
---@param modules any[][]|table list of {name, module}, a base.ordered map, or a ModuleDict
function ModuleDict:update(modules)
  local map = modules
  if class.is(modules, ModuleDict) then
    map = ordered.new()
    for name, module in modules:items() do map[name] = module end
  elseif not ordered.is(modules) then
    if type(modules) ~= 'table' or #modules == 0 and next(modules) ~= nil then
      errors.raise('argument', "ModuleDict: a Lua table has no order: pass a list {{'name', module}, …}")
    end
    map = ordered.new(modules)
  end
  for name, module in ordered.items(map) do self:add_module(name, check_module(self, module)) end
end

---@return string[]
function ModuleDict:keys()
  local keys = {}
  for name in self:items() do keys[#keys + 1] = name end
  return keys
end

---@return nn.Module[]
function ModuleDict:values()
  local values = {}
  for _, module in self:items() do values[#values + 1] = module end
  return values
end

---Iterates over name, module.
---@return fun(): string, nn.Module
function ModuleDict:items() return self:_own '_modules' end

---Returns whether there is a module of that name.
---@param name string
---@return boolean
function ModuleDict:contains(name) return self._kinds[name] == 'module' end

---Removes a module and returns it.
---@param name string
---@return nn.Module
function ModuleDict:pop(name)
  if not self:contains(name) then
    errors.raise('argument', ("ModuleDict has no '%s'%s"):format(tostring(name),
      errors.suggestion(tostring(name), self:keys())))
  end
  return self:_forget(name)
end

---Removes all modules.
function ModuleDict:clear()
  for _, name in ipairs(self:keys()) do self:_forget(name) end
end

---@return integer
function ModuleDict:len() return #self:keys() end

return {Sequential = Sequential, ModuleList = ModuleList, ModuleDict = ModuleDict}
