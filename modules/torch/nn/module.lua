-- torch/nn/module.lua: nn.Module.
--
-- All fields but `training` live in `_fields`, so that every assignment passes through __newindex, which registers
-- modules, parameters and buffers as PyTorch does. `_kinds` says what a registered name is; `_parameters`,
-- `_buffers` and `_modules` are lists of names in the order of registration.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local ordered = require 'rtrain.ordered'
local parameter = require 'torch.nn.parameter'

---Base of all layers and models. Assigning a module or a parameter to a field registers it, in order.
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

local function forget(self, name)
  local list = rawget(self, LISTS[self._kinds[name]])
  for i, other in ipairs(list) do
    if other == name then table.remove(list, i) end
  end
  self._kinds[name] = nil
end

local function enlist(self, name, kind)
  local known = self._kinds[name]
  if known == kind then return end
  if known then forget(self, name) end
  self._kinds[name] = kind
  local list = rawget(self, LISTS[kind])
  list[#list + 1] = name
end

local function describe(value)
  local of = class.of(value)
  return of and of.__name or is_tensor(value) and 'Tensor' or type(value)
end

function Module.__newindex(self, name, value)
  local kind = self._kinds[name]
  if class.is(value, Module) then
    enlist(self, name, 'module')
  elseif parameter.is_parameter(value) then
    enlist(self, name, 'parameter')
  elseif value ~= nil and (kind == 'parameter' or kind == 'module' or (kind == 'buffer' and not is_tensor(value))) then
    local wanted = kind == 'parameter' and 'nn.Parameter' or kind == 'module' and 'nn.Module' or 'Tensor'
    errors.raise('argument', ("cannot assign %s as %s '%s' (%s or nil expected)"):format(describe(value), kind,
      tostring(name), wanted))
  end
  self._fields[name] = value
end

function Module:__call(...)
  local hooks = self._fields._hooks
  if not hooks then return self:forward(...) end
  return require('torch.nn.hooks').call(self, hooks, ...)
end

---Computes the output; a subclass defines it. Call the module itself, `net(x)`.
function Module:forward()
  errors.raise('argument', ("%s has no forward: define function %s:forward(x)"):format(class.of(self).__name,
    class.of(self).__name))
end

---Registers a parameter under a name, which becomes a field.
---@param name string
---@param param torch.Tensor|nil nil registers a parameter that is absent (state_dict leaves it out)
function Module:register_parameter(name, param)
  if param ~= nil and not parameter.is_parameter(param) then
    errors.raise('argument', ("register_parameter '%s': nn.Parameter expected, got %s"):format(name, describe(param)))
  end
  enlist(self, name, 'parameter')
  self._fields[name] = param
end

---Registers a tensor that is part of the module's state and no parameter, such as a running mean.
---@param name string
---@param tensor torch.Tensor|nil
---@param options? {persistent: boolean} false: not part of state_dict
function Module:register_buffer(name, tensor, options)
  options = args.options(options, {'persistent'}, 'register_buffer')
  if tensor ~= nil and not is_tensor(tensor) then
    errors.raise('argument', ("register_buffer '%s': Tensor expected, got %s"):format(name, describe(tensor)))
  end
  enlist(self, name, 'buffer')
  if options.persistent == false then
    self._fields._non_persistent = self._fields._non_persistent or {}
    self._fields._non_persistent[name] = true
  end
  self._fields[name] = tensor
end

---Registers a module under a name, which becomes a field.
---@param name string
---@param module nn.Module|nil
function Module:add_module(name, module)
  if module ~= nil and not class.is(module, Module) then
    errors.raise('argument', ("add_module '%s': nn.Module expected, got %s"):format(name, describe(module)))
  end
  enlist(self, name, 'module')
  self._fields[name] = module
end
Module.register_module = Module.add_module

-- Containers put their list into _fields first.
local function own(self, list)
  if self._sync then self:_sync() end
  local names, i = rawget(self, list), 0
  return function()
    local name, value
    repeat
      i = i + 1
      name = names[i]
      value = name ~= nil and self._fields[name] or nil
    until name == nil or value ~= nil
    return name, value
  end
end

local function joined(prefix, name) return prefix == '' and name or prefix .. '.' .. name end

local function walk_modules(self, prefix, seen, out)
  if seen[self] then return out end
  seen[self] = true
  out[#out + 1] = {prefix, self}
  for name, child in own(self, '_modules') do walk_modules(child, joined(prefix, name), seen, out) end
  return out
end

local function iterator(entries)
  local i = 0
  return function()
    i = i + 1
    if entries[i] then return entries[i][1], entries[i][2] end
  end
end

local function values(entries)
  local out = {}
  for i, entry in ipairs(entries) do out[i] = entry[2] end
  return out
end

-- {name, tensor} of this module and those below, each tensor once.
local function members(self, list, prefix, recurse)
  local seen, out = {}, {}
  local modules = recurse and walk_modules(self, prefix, {}, {}) or {{prefix, self}}
  for _, entry in ipairs(modules) do
    for name, tensor in own(entry[2], list) do
      if not seen[tensor] then
        seen[tensor] = true
        out[#out + 1] = {joined(entry[1], name), tensor}
      end
    end
  end
  return out
end

---Iterates over name, module: this one ('') and all below it.
---@return fun(): string, nn.Module
function Module:named_modules() return iterator(walk_modules(self, '', {}, {})) end

---@return nn.Module[] modules this one and all below it
function Module:modules() return values(walk_modules(self, '', {}, {})) end

local function child_entries(self)
  local seen, out = {}, {}
  for name, child in own(self, '_modules') do
    if not seen[child] then
      seen[child] = true
      out[#out + 1] = {name, child}
    end
  end
  return out
end

---Iterates over name, module of the direct children.
---@return fun(): string, nn.Module
function Module:named_children() return iterator(child_entries(self)) end

---@return nn.Module[] children the direct ones
function Module:children() return values(child_entries(self)) end

local MEMBER_OPTIONS = {'prefix', 'recurse'}

---Iterates over name, parameter, in the order of registration; shared ones once.
---@param options? {prefix: string, recurse: boolean} recurse = false: this module's own alone
---@return fun(): string, torch.Tensor
function Module:named_parameters(options)
  options = args.options(options, MEMBER_OPTIONS, 'named_parameters')
  return iterator(members(self, '_parameters', options.prefix or '', options.recurse ~= false))
end

---Parameters in the order of registration, shared ones once: what an optimizer takes.
---@param options? {recurse: boolean} false: this module's own alone
---@return torch.Tensor[]
function Module:parameters(options)
  options = args.options(options, {'recurse'}, 'parameters')
  return values(members(self, '_parameters', '', options.recurse ~= false))
end

---Iterates over name, buffer.
---@param options? {prefix: string, recurse: boolean}
---@return fun(): string, torch.Tensor
function Module:named_buffers(options)
  options = args.options(options, MEMBER_OPTIONS, 'named_buffers')
  return iterator(members(self, '_buffers', options.prefix or '', options.recurse ~= false))
end

---@param options? {recurse: boolean} false: this module's own alone
---@return torch.Tensor[]
function Module:buffers(options)
  options = args.options(options, {'recurse'}, 'buffers')
  return values(members(self, '_buffers', '', options.recurse ~= false))
end

---The module at a dotted path of names, as in state_dict: 'features.0'.
---@param path string
---@return nn.Module
---Raises code 'argument' when a name on the way is no module.
function Module:get_submodule(path)
  local found = self
  for name in path:gmatch '[^.]+' do
    if found._sync then found:_sync() end
    if found._kinds[name] ~= 'module' or found._fields[name] == nil then
      errors.raise('argument', ("%s has no module '%s' (in '%s')"):format(class.of(found).__name, name, path))
    end
    found = found._fields[name]
  end
  return found
end

local function is_persistent(module, name)
  local transient = module._fields._non_persistent
  return not (transient and transient[name])
end

-- Calls fn(full name, tensor, module, name, kind) for everything in a state_dict, in PyTorch's order.
local function each_state(self, prefix, fn)
  for name, tensor in own(self, '_parameters') do fn(joined(prefix, name), tensor, self, name) end
  for name, tensor in own(self, '_buffers') do
    if is_persistent(self, name) then fn(joined(prefix, name), tensor, self, name) end
  end
  for name, child in own(self, '_modules') do each_state(child, joined(prefix, name), fn) end
end

---Parameters and persistent buffers by name, in order. The tensors share memory with the module.
---
---```lua
---local torch = require 'torch'
---local a, b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
---b:load_state_dict(a:state_dict())
---assert(torch.equal(a.weight, b.weight))
---```
---@param options? {prefix: string, keep_vars: boolean} prefix includes its dot, as in PyTorch
---@return table<string, torch.Tensor> state an rtrain.ordered map
function Module:state_dict(options)
  options = args.options(options, {'prefix', 'keep_vars'}, 'state_dict')
  local state = ordered.new()
  each_state(self, '', function(name, tensor)
    state[(options.prefix or '') .. name] = options.keep_vars and tensor or tensor:detach()
  end)
  return state
end

local function sorted_keys(map)
  if ordered.is(map) then return ordered.keys(map) end
  local keys = {}
  for key in next, map do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function shape_text(tensor) return '[' .. table.concat(tensor:size(), ', ') .. ']' end

local function same_shape(a, b) return shape_text(a) == shape_text(b) end

local function quoted(names)
  local out = {}
  for i, name in ipairs(names) do out[i] = ('"%s"'):format(name) end
  return table.concat(out, ', ')
end

local function raise_load_error(self, problems)
  errors.raise('argument', ('Error(s) in loading state_dict for %s:\n\t%s'):format(class.of(self).__name,
    table.concat(problems, '\n\t')))
end

local function check_state(self, state, own_names, strict)
  local missing, unexpected, problems, expected = {}, {}, {}, {}
  for _, entry in ipairs(own_names) do
    local name, tensor = entry[1], entry[2]
    expected[name] = true
    local given = state[name]
    if given == nil then
      missing[#missing + 1] = name
    elseif not is_tensor(given) then
      problems[#problems + 1] = ('"%s": expected a Tensor, got %s.'):format(name, describe(given))
    elseif not same_shape(given, tensor) then
      problems[#problems + 1] = ('size mismatch for %s: copying a param with shape %s from checkpoint, '
        .. 'the shape in current model is %s.'):format(name, shape_text(given), shape_text(tensor))
    end
  end
  for _, name in ipairs(sorted_keys(state)) do
    if not expected[name] then unexpected[#unexpected + 1] = name end
  end
  if strict and #unexpected > 0 then
    table.insert(problems, 1, ('Unexpected key(s) in state_dict: %s.'):format(quoted(unexpected)))
  end
  if strict and #missing > 0 then
    table.insert(problems, 1, ('Missing key(s) in state_dict: %s.'):format(quoted(missing)))
  end
  if #problems > 0 then raise_load_error(self, problems) end
  return {missing_keys = missing, unexpected_keys = unexpected}
end

---Copies the tensors of a state_dict into the module. Nothing is changed when it raises.
---@param state table<string, torch.Tensor>
---@param options? {strict: boolean} strict (default true): missing and unexpected names are errors
---@return {missing_keys: string[], unexpected_keys: string[]}
---Raises code 'argument' with every missing and unexpected name and every wrong shape.
function Module:load_state_dict(state, options)
  options = args.options(options, {'strict'}, 'load_state_dict')
  if type(state) ~= 'table' or class.of(state) then
    errors.raise('argument', ('load_state_dict: expected a state_dict, got %s'):format(describe(state)))
  end
  local own_names = {}
  each_state(self, '', function(name, tensor) own_names[#own_names + 1] = {name, tensor} end)
  local result = check_state(self, state, own_names, options.strict ~= false)
  require('torch').no_grad(function()
    for _, entry in ipairs(own_names) do
      if state[entry[1]] ~= nil then entry[2]:copy_(state[entry[1]]) end
    end
  end)
  return result
end

---Puts this module and all below it into training mode.
---@param mode? boolean default true
---@return nn.Module self
function Module:train(mode)
  for _, module in ipairs(self:modules()) do module.training = mode ~= false end
  return self
end

---Evaluation mode: dropout is off, batch norm uses its running statistics.
---@return nn.Module self
function Module:eval() return self:train(false) end

---Calls fn on every module, children first.
---@param fn fun(module: nn.Module)
---@return nn.Module self
function Module:apply(fn)
  for _, child in ipairs(self:children()) do child:apply(fn) end
  fn(self)
  return self
end

---Whether the parameters take part in training: false freezes the module.
---@param value? boolean default true
---@return nn.Module self
function Module:requires_grad_(value)
  for _, param in ipairs(self:parameters()) do param.requires_grad = value ~= false end
  return self
end

---Forgets the gradients of all parameters (`set_to_none = false` zeroes them).
---@param options? {set_to_none: boolean}
function Module:zero_grad(options)
  options = args.options(options, {'set_to_none'}, 'zero_grad')
  parameter.zero_grads(self:parameters(), options.set_to_none ~= false)
end

-- Replaces the data of parameters, gradients and buffers; the tensors keep their identity, which optimizers rely on.
local function convert(self, fn)
  local seen = {}
  local function convert_tensor(tensor)
    if seen[tensor] then return end
    seen[tensor] = true
    local grad = tensor.grad
    tensor.data = fn(tensor:detach())
    if grad ~= nil then tensor.grad = fn(grad:detach()) end
  end
  for _, module in ipairs(self:modules()) do
    for _, param in own(module, '_parameters') do convert_tensor(param) end
    for name, buffer in own(module, '_buffers') do module._fields[name] = fn(buffer) end
  end
  return self
end

local DTYPES = {float32 = true, float64 = true, float16 = true, bfloat16 = true}

---Moves or casts: `to('cpu')`, `to(torch.float64)`, `to{device=…, dtype=…}`. Only floating-point tensors change
---dtype.
---@param target? string device or dtype
---@param options? {device: string, dtype: string}
---@return nn.Module self
function Module:to(target, options)
  if type(target) == 'table' then target, options = nil, target end
  options = args.options(options, {'device', 'dtype', 'non_blocking'}, 'Module:to')
  local dtype, device = options.dtype, options.device
  if DTYPES[target] then dtype = target elseif target ~= nil then device = require('torch').device(target) end
  if dtype ~= nil and not DTYPES[dtype] then
    errors.raise('argument', ("Module:to: '%s' is no floating-point dtype"):format(tostring(dtype)))
  end
  return convert(self, function(tensor)
    local to = {device = device or tensor.device}
    to.dtype = dtype and tensor:is_floating_point() and dtype or tensor.dtype
    return tensor:to(to)
  end)
end

---Casts to float32.
---@return nn.Module self
function Module:float() return self:to('float32') end

---Casts to float64.
---@return nn.Module self
function Module:double() return self:to('float64') end

---Casts to float16.
---@return nn.Module self
function Module:half() return self:to('float16') end

---Casts to bfloat16.
---@return nn.Module self
function Module:bfloat16() return self:to('bfloat16') end

---Moves to the CPU.
---@return nn.Module self
function Module:cpu() return self:to('cpu') end

---Moves to the GPU.
---@return nn.Module self
function Module:cuda() return self:to('cuda') end

---Runs fn(module, inputs, output) after every forward; what it returns replaces the output.
---@param fn fun(module: nn.Module, inputs: any[], output: any): any
---@return {remove: fun()} handle
function Module:register_forward_hook(fn) return require('torch.nn.hooks').add(self, 'after', fn) end

---Runs fn(module, inputs) before every forward; a table that it returns replaces the inputs.
---@param fn fun(module: nn.Module, inputs: any[]): any[]|nil
---@return {remove: fun()} handle
function Module:register_forward_pre_hook(fn) return require('torch.nn.hooks').add(self, 'before', fn) end

---What stands between the parentheses when the module is printed; a subclass may define it.
---@return string
function Module:extra_repr() return '' end

function Module.__tostring(self) return require('torch.nn.repr').module(self) end

return {Module = Module}
