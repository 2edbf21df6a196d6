-- torch/nn/utils/parametrize.lua: torch.nn.utils.parametrize: parameters that are computed from others.
--
-- A parametrized module gets a separate class, ParametrizedX, whose __index computes the tensors; the trained tensor is
-- module.parametrizations.<name>.original, as in PyTorch, so that the names in state_dict are the same.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local container = require 'torch.nn.container'
local parameter = require 'torch.nn.parameter'
local torch = require 'torch'

local parametrize = {}

-- List → computed tensor, while parametrize.cached runs.
local cache

local function fail(message, ...) errors.raise('argument', message:format(...)) end

local function describe(tensor)
  if not torch.is_tensor(tensor) then return type(tensor) end
  return ('%s %s on %s'):format(tensor.dtype, tostring(tensor.shape), tensor.device)
end

-- A parametrization must keep dtype and shape, unless it is marked unsafe.
local function check_same(what, new, old)
  if torch.is_tensor(new) and new.dtype == old.dtype and tostring(new.shape) == tostring(old.shape) then return end
  fail('%s gives %s where the tensor is %s: it may not change dtype or shape unless unsafe = true', what, describe(new),
    describe(old))
end

local function register(module, name, tensor)
  if parameter.is_parameter(tensor) then return module:register_parameter(name, tensor) end
  module:register_buffer(name, tensor)
end

---The parametrizations of one tensor, applied one after the other, and the tensors to which they are applied:
---`original`, or `original0`, `original1`, … if right_inverse returns several tensors.
---@class nn.utils.parametrize.ParametrizationList: nn.ModuleList
---@field original torch.Tensor|nil
local ParametrizationList = container.ModuleList:extend('ParametrizationList')
parametrize.ParametrizationList = ParametrizationList

-- Returns the tensors to which the parametrizations must be applied to get that value. Without a right_inverse the
-- value itself is used, or with `must` an error is raised.
local function invert(list, value, must)
  local values = {value}
  for i = #list, 1, -1 do
    local found = list[i].right_inverse and {list[i]:right_inverse(unpack(values))} or {}
    if #found == 0 and must then fail('%s has no right_inverse', class.of(list[i]).__name) end
    if #found > 0 then values = found end
  end
  return values
end

local function keep_originals(self, original, values)
  self.is_tensor, self.ntensors = #values == 1, #values
  if self.is_tensor then
    if values[1].dtype ~= original.dtype then
      fail('right_inverse gives %s where the tensor is %s', describe(values[1]), describe(original))
    end
    original.data = values[1]:detach()
    return register(self, 'original', original)
  end
  for i, value in ipairs(values) do
    local needs_grad = original.requires_grad
    if parameter.is_parameter(original) then value = parameter.Parameter(value, needs_grad) end
    value.requires_grad = needs_grad
    register(self, 'original' .. (i - 1), value)
  end
end

function ParametrizationList:init(modules, original, unsafe)
  container.ModuleList.init(self, modules)
  self.unsafe = unsafe
  local before = original:detach()
  keep_originals(self, original, torch.no_grad(invert, self, original))
  if not unsafe then check_same('the parametrization', self(), before) end
end

function ParametrizationList:_originals()
  if self.is_tensor then return {self.original} end
  local out = {}
  for i = 1, self.ntensors do out[i] = self['original' .. (i - 1)] end
  return out
end

function ParametrizationList:forward()
  local x = self[1](unpack(self:_originals()))
  for i = 2, #self do x = self[i](x) end
  return x
end

---Sets the originals so that the parametrized tensor is `value`.
---@param value torch.Tensor
function ParametrizationList:right_inverse(value)
  local values = torch.no_grad(invert, self, value, true)
  if #values ~= self.ntensors then fail('right_inverse gives %d tensors, expected %d', #values, self.ntensors) end
  for i, original in ipairs(self:_originals()) do
    if values[i].dtype ~= original.dtype then
      fail('right_inverse gives %s where the original is %s', describe(values[i]), describe(original))
    end
    original.data = values[i]:detach()
  end
end

local function list_of(module, name)
  local all = module._fields.parametrizations
  if all and all._kinds[name] == 'module' then return all._fields[name] end
end

local function computed(list)
  if not cache then return list() end
  if cache[list] == nil then cache[list] = list() end
  return cache[list]
end

local function parametrized_class(base)
  local new = class.new('Parametrized' .. base.__name, base)
  local index, newindex = base.__index, base.__newindex
  new._before_parametrizations = base
  function new.__index(self, name)
    local list = list_of(self, name)
    if list then return computed(list) end
    return index(self, name)
  end
  function new.__newindex(self, name, value)
    local list = list_of(self, name)
    if list then return list:right_inverse(value) end
    return newindex(self, name, value)
  end
  return new
end

---Returns whether a module, or one tensor of it, is parametrized.
---@param module nn.Module
---@param tensor_name? string
---@return boolean
function parametrize.is_parametrized(module, tensor_name)
  if tensor_name ~= nil then return list_of(module, tensor_name) ~= nil end
  return module._fields.parametrizations ~= nil and class.of(module)._before_parametrizations ~= nil
end

local signature = args.signature('register_parametrization', {'module', 'tensor_name', 'parametrization',
  {'unsafe', false}})

local function add_to_list(list, p)
  if not p.unsafe then
    local old = p.module[p.tensor_name]
    local new = p.parametrization(old)
    check_same('the parametrization', new, old)
    if p.parametrization.right_inverse then
      check_same('right_inverse', p.parametrization:right_inverse(new), old)
    end
  end
  list:append(p.parametrization)
  list.unsafe = list.unsafe or p.unsafe
end

---Computes a parameter or buffer of a module by another module: `module[tensor_name]` is then
---parametrization(original); a second parametrization is applied to the result of the first. If a parametrization has a
---method right_inverse(value), the tensor can be assigned. Arguments: module, tensor_name, parametrization, {unsafe =
---false (true: it may change dtype and shape)}.
---@param ... any
---@return nn.Module module the given module
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local Symmetric = nn.Module:extend('Symmetric')
---function Symmetric:forward(x) return x:triu() + x:triu(1):transpose(-1, -2) end
---local layer = nn.Linear(3, 3)
---nn.utils.parametrize.register_parametrization(layer, 'weight', Symmetric())
---assert(torch.equal(layer.weight, layer.weight:t()))
---assert(layer:state_dict()['parametrizations.weight.original'].shape[1] == 3)
---```
function parametrize.register_parametrization(...)
  local p = signature:bind(...)
  local module, name = p.module, p.tensor_name
  p.parametrization:train(module.training)
  local list = list_of(module, name)
  if list then
    add_to_list(list, p)
    return module
  end
  local kind = module._kinds[name]
  if (kind ~= 'parameter' and kind ~= 'buffer') or module._fields[name] == nil then
    fail("register_parametrization: %s has no parameter or buffer '%s'", class.of(module).__name, tostring(name))
  end
  local new_list = ParametrizationList({p.parametrization}, module._fields[name], p.unsafe)
  module:_forget(name)
  if not parametrize.is_parametrized(module) then
    setmetatable(module, parametrized_class(class.of(module)))
    module.parametrizations = container.ModuleDict()
  end
  -- The name may be that of a method of ModuleDict, so the check of names is bypassed.
  container.ModuleDict.__newindex(module.parametrizations, name, new_list)
  return module
end

local removal = args.signature('remove_parametrizations', {'module', 'tensor_name', {'leave_parametrized', true}})

local function final_tensor(module, name, list, leaves)
  local value = torch.no_grad(function() return module[name] end)
  if not list.is_tensor then
    if not leaves then fail('remove_parametrizations: %d tensors cannot be left in place of one', list.ntensors) end
    return list.original0.requires_grad and parameter.Parameter(value) or value
  end
  if leaves then list.original.data = value:detach() end
  return list.original
end

---Undoes register_parametrization. Arguments: module, tensor_name, leave_parametrized = true (the tensor keeps its computed
---value; false: it gets the original's value).
---@param ... any
---@return nn.Module module the given module
function parametrize.remove_parametrizations(...)
  local p = removal:bind(...)
  local module, name = p.module, p.tensor_name
  local list = list_of(module, name)
  if not list then fail("remove_parametrizations: '%s' of %s is not parametrized", name, class.of(module).__name) end
  local tensor = final_tensor(module, name, list, p.leave_parametrized)
  module.parametrizations:_forget(name)
  register(module, name, tensor)
  if module.parametrizations:len() == 0 then
    module:_forget('parametrizations')
    setmetatable(module, class.of(module)._before_parametrizations)
  end
  return module
end

---Returns the class of a module before it was parametrized.
---@param module nn.Module
---@return table class
function parametrize.type_before_parametrizations(module)
  return class.of(module)._before_parametrizations or class.of(module)
end

---Calls fn; in it each parametrized tensor is computed once. PyTorch equivalent: `with parametrize.cached():`.
---@param fn fun(): ...
---@return any ... the results of fn
function parametrize.cached(fn)
  local outer = cache
  cache = outer or {}
  local results = {pcall(fn)}
  cache = outer
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2)
end

return require 'base.namespace'('torch.nn.utils.parametrize', {
  absent = require('torch.nn.absent').of 'torch.nn.utils.parametrize',
}, parametrize)
