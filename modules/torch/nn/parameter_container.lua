-- torch/nn/parameter_container.lua: ParameterList, ParameterDict.

local class = require 'base.class'
local errors = require 'base.errors'
local index_of = require 'base.index_of'
local ordered = require 'base.ordered'
local parameter = require 'torch.nn.parameter'
local repr = require 'torch.nn.repr'
local List = require 'torch.nn.list'
local Module = require('torch.nn.module').Module
local torch = require 'torch'

-- Tensors become parameters; other values are stored unchanged.
local function as_parameter(value)
  if torch.is_tensor(value) and not parameter.is_parameter(value) then return parameter.Parameter(value) end
  return value
end

local function refuse_call(self)
  errors.raise('argument', ('%s cannot be called: it only holds parameters'):format(class.of(self).__name))
end

-- Returns "  (name): Parameter containing: [torch.float32 of size 2x3]". Callers must call parameters() first, which
-- marks the parameters again after they were sent to another process.
local function item_line(name, value, kind_of)
  if not torch.is_tensor(value) then
    return ('  (%s): Object of type: %s'):format(name, repr.type_name(value))
  end
  local device = tostring(value.device)
  return ('  (%s): %s containing: [%s of size %s%s]'):format(name,
    parameter.is_parameter(value) and 'Parameter' or 'Tensor', kind_of(value), table.concat(value:size(), 'x'),
    device:match '^cuda' and ' (' .. device .. ')' or '')
end

---A list of parameters: tensors that are added become parameters, other values are kept unchanged. It has the
---operations of Sequential.
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local scales = nn.ParameterList{torch.ones(2), torch.zeros(3)}
---assert(#scales == 2 and #scales:parameters() == 2 and scales:state_dict()['1'].shape[1] == 3)
---```
---@class nn.ParameterList: nn.Module
---@overload fun(values?: any[]): nn.ParameterList
local ParameterList = List:extend('ParameterList')

---@param values? any[]
function ParameterList:init(values) self:extend(values or {}) end

function ParameterList:_checked(value) return as_parameter(value) end

function ParameterList:extra_repr()
  local lines = {}
  self:parameters()
  for i = 1, #self do
    lines[i] = item_line(tostring(i - 1), self[i], function(tensor) return 'torch.' .. tensor.dtype end)
  end
  return table.concat(lines, '\n')
end

ParameterList.__call = refuse_call

---Parameters by name, in the order in which they were added: `dict['name']`. Tensors that are added become
---parameters, other values are kept unchanged.
---
---```lua
---local torch = require 'torch'
---local choices = torch.nn.ParameterDict{{'left', torch.ones(2)}, {'right', torch.zeros(3)}}
---assert(table.concat(choices:keys(), ' ') == 'left right' and #choices:parameters() == 2)
---assert(choices:pop('left'):numel() == 2 and choices:len() == 1 and choices:get('left') == nil)
---```
---@class nn.ParameterDict: nn.Module
---@overload fun(parameters?: any[][]): nn.ParameterDict
local ParameterDict = Module:extend('ParameterDict')

function ParameterDict.__new(of)
  local object = Module.__new(of)
  rawset(object, '_names', {})
  return object
end

---@param parameters? any[][] list of {name, tensor}, or a base.ordered map
function ParameterDict:init(parameters)
  if parameters ~= nil then self:update(parameters) end
end

local function position(self, name) return index_of(self._names, name) end

-- In one assignment a new name comes before the parameter that was registered last: `dict.a, dict.b = …` stores b
-- first.
local function place_of(self, name)
  local parameters = rawget(self, '_parameters')
  local place = index_of(parameters, name)
  local following = place and parameters[place + 1]
  return following and position(self, following) or #self._names + 1
end

function ParameterDict.__newindex(self, name, value)
  if type(name) ~= 'string' then
    errors.raise('argument', ('ParameterDict: a name is a string, got %s'):format(type(name)))
  end
  local is_new = not position(self, name)
  Module.__newindex(self, name, as_parameter(value))
  if is_new then table.insert(self._names, place_of(self, name), name) end
end

---Adds or replaces parameters.
---@param parameters any[][]|table list of {name, tensor}, a base.ordered map, a ParameterDict; a plain table is added
---  in the order of its sorted names, as in PyTorch
function ParameterDict:update(parameters)
  if class.is(parameters, ParameterDict) then
    for name, value in parameters:items() do self[name] = value end
    return
  end
  if type(parameters) ~= 'table' then
    errors.raise('argument', ('ParameterDict: expected a list of {name, tensor}, got %s'):format(type(parameters)))
  end
  local map = parameters
  if not ordered.is(parameters) then
    map = ordered.new(parameters)
    for _, name in ipairs(ordered.names_of(parameters)) do map[name] = parameters[name] end
  end
  for name, value in ordered.items(map) do self[name] = value end
end

---@return string[]
function ParameterDict:keys()
  local keys = {}
  for i, name in ipairs(self._names) do keys[i] = name end
  return keys
end

---@return any[]
function ParameterDict:values()
  local values = {}
  for i, name in ipairs(self._names) do values[i] = self._fields[name] end
  return values
end

---Iterates over name, value.
---@return fun(): string, any
function ParameterDict:items()
  local keys, i = self:keys(), 0
  return function()
    i = i + 1
    return keys[i], self._fields[keys[i]]
  end
end

---Returns the value of a name, or the default.
---@param name string
---@param default? any
---@return any
function ParameterDict:get(name, default)
  if not position(self, name) then return default end
  return self._fields[name]
end

---Returns the value of a name; if it has none, sets it to the default first.
---@param name string
---@param default any
---@return any
function ParameterDict:setdefault(name, default)
  if not position(self, name) then self[name] = default end
  return self._fields[name]
end

---Returns whether there is a value of that name.
---@param name string
---@return boolean
function ParameterDict:contains(name) return position(self, name) ~= nil end

---Removes a value and returns it.
---@param name string
---@return any
function ParameterDict:pop(name)
  local index = position(self, name)
  if not index then
    errors.raise('argument', ("ParameterDict has no '%s'%s"):format(tostring(name),
      errors.suggestion(tostring(name), self._names)))
  end
  table.remove(self._names, index)
  return self:_forget(name)
end

---Removes the value that was added last, and returns its name and value.
---@return string name
---@return any value
function ParameterDict:popitem()
  local name = self._names[#self._names]
  if name == nil then errors.raise('argument', 'ParameterDict:popitem: it is empty') end
  return name, self:pop(name)
end

---Removes all values.
function ParameterDict:clear()
  for _, name in ipairs(self:keys()) do self:pop(name) end
end

---Returns a dictionary with the same value under each name.
---@param names string[]
---@param default? any
---@return nn.ParameterDict
function ParameterDict:fromkeys(names, default)
  local new = ParameterDict()
  for _, name in ipairs(names) do new[name] = default end
  return new
end

---Returns a dictionary of the same parameters.
---@return nn.ParameterDict
function ParameterDict:copy()
  local new = ParameterDict()
  new:update(self)
  return new
end

---@return integer
function ParameterDict:len() return #self._names end

local TYPES = {float32 = 'Float', float64 = 'Double', float16 = 'Half', bfloat16 = 'BFloat16', int64 = 'Long', int32 = 'Int',
               int16 = 'Short', int8 = 'Char', uint8 = 'Byte', bool = 'Bool', complex64 = 'ComplexFloat',
               complex128 = 'ComplexDouble'}

local function type_of(tensor)
  return ('torch.%s%sTensor'):format(tostring(tensor.device):match '^cuda' and 'cuda.' or '', TYPES[tensor.dtype])
end

function ParameterDict:extra_repr()
  local lines = {}
  self:parameters()
  for name, value in self:items() do lines[#lines + 1] = item_line(name, value, type_of) end
  return table.concat(lines, '\n')
end

ParameterDict.__call = refuse_call

return {ParameterList = ParameterList, ParameterDict = ParameterDict}
