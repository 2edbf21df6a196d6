-- torch/nn/module/base.lua: nn.Module: fields, registered names among them, and the call.
--
-- All fields except `training` are in `_fields`, so that every assignment passes through __newindex, which registers
-- modules, parameters and buffers as PyTorch does. `_kinds` has the kind of each registered name; `_parameters`,
-- `_buffers` and `_modules` are lists of names in the order of registration, which within one assignment is the order
-- of its left side. The other files of this folder add methods.

local args = require 'base.args'
local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local errors = require 'base.errors'
local last_arguments = require 'torch.nn.module.last_arguments'
local parameter = require 'torch.nn.parameter'
local written_order = require 'torch.nn.module.written_order'

---Base of all layers and models. Assigning a module or a parameter to a field registers it, in the order of assignment.
---
---```lua
---local torch = require 'torch'
---local nn, F = torch.nn, torch.nn.functional
---local Net = nn.Module:extend('Net')
---function Net:init()
---  self.hidden = nn.Linear(4, 8)
---  self.out = nn.Linear(8, 2)
---end
---function Net:forward(x) return self.out(F.relu(self.hidden(x))) end
---local net = Net()
---assert(net(torch.ones(3, 4)).shape[2] == 2 and #net:parameters() == 4)
---```
---@class nn.Module
---@field training boolean
local Module = class('Module')

-- `model.forward(x)` raises an error even if forward does not use its self.
Module.__checked_methods = {forward = true}

local LISTS = {parameter = '_parameters', buffer = '_buffers', module = '_modules'}

function Module.__new(of)
  return setmetatable({training = true, _fields = {}, _kinds = {}, _parameters = {}, _buffers = {}, _modules = {}}, of)
end

function Module.__index(self, name)
  local value = rawget(self, '_fields')[name]
  if value ~= nil then return value end
  return getmetatable(self)[name]
end

local function is_tensor(value) return type(value) == 'userdata' and require('torch').is_tensor(value) end

---Removes a name from the lists, as `del module.name` does in Python.
---@param name string
---@return any value the removed value
function Module:_forget(name)
  local kind, value = self._kinds[name], self._fields[name]
  self._fields[name] = nil
  if kind == nil then return value end
  local list = rawget(self, LISTS[kind])
  for i, other in ipairs(list) do
    if other == name then table.remove(list, i) end
  end
  self._kinds[name] = nil
  return value
end

local function enlist(self, name, kind)
  local known = self._kinds[name]
  if known == kind then return end
  if known then self:_forget(name) end
  self._kinds[name] = kind
  local list = rawget(self, LISTS[kind])
  table.insert(list, written_order.place(getmetatable(self), list, name), name)
end

---Returns the name of a value in messages: the name of its class, 'Tensor', or its Lua type.
---@param value any
---@return string
function Module._describe(value)
  local of = class.of(value)
  return of and of.__name or is_tensor(value) and 'Tensor' or type(value)
end

---Returns names for a message about a name that the module lacks (base.errors.hint).
---@return string[] names of its public fields
---@return string[] registered those of its parameters, buffers and modules
function Module:__own_names()
  local names, registered = {}, {}
  -- The order is irrelevant: the names are sorted before they are shown.
  for name in next, self._fields do
    if type(name) == 'string' and name:sub(1, 1) ~= '_' then names[#names + 1] = name end
  end
  for name in next, self._kinds do registered[#registered + 1] = name end
  return names, registered
end

local WANTED = {parameter = 'nn.Parameter', module = 'nn.Module', buffer = 'Tensor'}

function Module.__newindex(self, name, value)
  local kind = self._kinds[name]
  if class.is(value, Module) then
    enlist(self, name, 'module')
  elseif parameter.is_parameter(value) then
    enlist(self, name, 'parameter')
  elseif parameter.is_buffer(value) and (kind == nil or kind == 'buffer') then
    self._fields[name] = nil
    return self:register_buffer(name, value, {persistent = parameter.is_persistent(value)})
  elseif value ~= nil and (kind == 'parameter' or kind == 'module' or (kind == 'buffer' and not is_tensor(value))) then
    errors.raise('argument', ("cannot assign %s as %s '%s' (%s or nil expected)"):format(Module._describe(value), kind,
      tostring(name), WANTED[kind]))
  end
  self._fields[name] = value
  capture.num_assignments = capture.num_assignments + 1
end

---Does nothing. A class ported from Python may keep its call `super().__init__()` as `nn.Module.init(self)`.
function Module:init() end

local function results(...) return ... end

local kept_arguments, note_arguments = last_arguments.kept, last_arguments.note

-- The call's frame stays on the stack, and with it the module, so that an error can name it.
function Module:__call(...)
  local watch = capture.watch_module
  if watch then watch(self) end
  local kept = kept_arguments[self]
  if kept then note_arguments(kept, ...) end
  local hooks = self._fields._hooks
  if not hooks then return results(self:forward(...)) end
  return results(hooks:call(self, ...))
end

---Computes the output; a subclass defines it. To call it, call the module itself: `net(x)`.
function Module:forward()
  errors.raise('argument', ("%s has no forward: define function %s:forward(x)"):format(class.of(self).__name,
    class.of(self).__name))
end

-- Refuses a name that could be read back neither from the module nor from a state_dict.
local function check_name(self, what, name, kind)
  local problem
  if type(name) ~= 'string' then
    problem = ('a name is a string, got %s'):format(type(name))
  elseif name == '' or name:find('.', 1, true) then
    problem = name == '' and 'a name cannot be empty' or "a name cannot contain '.'"
  elseif self._kinds[name] ~= kind and self[name] ~= nil then
    problem = ("%s has '%s' already"):format(class.of(self).__name, name)
  end
  if problem then errors.raise('argument', ("%s '%s': %s"):format(what, tostring(name), problem)) end
end

---Registers a parameter under a name, which becomes a field.
---@param name string
---@param param torch.Tensor|nil nil registers an absent parameter (state_dict omits it)
function Module:register_parameter(name, param)
  if param ~= nil and not parameter.is_parameter(param) then
    errors.raise('argument', ("register_parameter '%s': nn.Parameter expected, got %s"):format(name,
      Module._describe(param)))
  end
  check_name(self, 'register_parameter', name, 'parameter')
  enlist(self, name, 'parameter')
  self._fields[name] = param
end

---Registers a tensor that is part of the module's state but not a parameter, such as a running mean.
---@param name string
---@param tensor torch.Tensor|nil
---@param options? {persistent: boolean} false: not part of state_dict
function Module:register_buffer(name, tensor, options)
  if type(options) == 'boolean' then options = {persistent = options} end
  options = args.options(options, {'persistent'}, 'register_buffer')
  if tensor ~= nil and not is_tensor(tensor) then
    errors.raise('argument', ("register_buffer '%s': Tensor expected, got %s"):format(name, Module._describe(tensor)))
  end
  check_name(self, 'register_buffer', name, 'buffer')
  enlist(self, name, 'buffer')
  local transient = self._fields._non_persistent or {}
  self._fields._non_persistent = transient
  transient[name] = options.persistent == false or nil
  self._fields[name] = tensor
end

---Registers a module under a name, which becomes a field.
---@param name string
---@param module nn.Module|nil
function Module:add_module(name, module)
  if module ~= nil and not class.is(module, Module) then
    errors.raise('argument', ("add_module '%s': nn.Module expected, got %s"):format(name, Module._describe(module)))
  end
  check_name(self, 'add_module', name, 'module')
  enlist(self, name, 'module')
  self._fields[name] = module
end

---Another name of add_module.
Module.register_module = Module.add_module

---Iterates over name, value of the entries registered in a list, in order; absent ones are omitted. Containers first
---put their items into the fields.
---@param list string '_parameters' | '_buffers' | '_modules'
---@return fun(): string, any
function Module:_own(list)
  if self._sync then self:_sync() end
  local names, i = rawget(self, list), 0
  return function()
    local name, value
    repeat
      i = i + 1
      name = names[i]
      value = name ~= nil and self._fields[name] or nil
    until name == nil or value ~= nil
    if name ~= nil and list == '_parameters' then parameter.adopt(value) end
    return name, value
  end
end

---Returns the text between the parentheses when the module is printed; a subclass may define it.
---@return string
function Module:extra_repr() return '' end

function Module.__tostring(self) return require('torch.nn.repr').module(self) end

return Module
