-- torch/nn/module/state.lua: nn.Module: state_dict and load_state_dict.
--
-- Loading first decides which tensor is copied where, in PyTorch's order and with its messages, and copies only if
-- there is no error: a module is never left half loaded.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local parameter = require 'torch.nn.parameter'

---@class nn.Module
local Module = require 'torch.nn.module.base'

local EXTRA = '_extra_state'

local function is_tensor(value) return type(value) == 'userdata' and require('torch').is_tensor(value) end

-- Calls fn(name, tensor) for the module's own part of a state_dict, in order.
local function each_own(module, fn)
  for name, tensor in module:_own '_parameters' do fn(name, tensor) end
  local transient = module._fields._non_persistent or {}
  for name, tensor in module:_own '_buffers' do
    if not transient[name] then fn(name, tensor) end
  end
end

local function run_hooks(module, list, ...)
  -- A hook may remove itself.
  for _, entry in ipairs{unpack(module._fields[list] or {})} do entry.fn(module, ...) end
end

local function add_hook(module, list, fn)
  local entries, entry = module._fields[list] or {}, {fn = fn}
  module._fields[list] = entries
  entries[#entries + 1] = entry
  return require('base.handle')(entries, entry)
end

---Returns a value that belongs to the state and is not a tensor. A class with such a value defines both get_extra_state
---and set_extra_state. state_dict contains it as '_extra_state'.
---@return any
function Module:get_extra_state()
  errors.raise('argument', ('%s defines no get_extra_state'):format(class.of(self).__name))
end

---Restores a result of get_extra_state.
---@param state any
function Module:set_extra_state(state) -- luacheck: ignore state
  errors.raise('argument', ('%s defines no set_extra_state'):format(class.of(self).__name))
end

local BASE_GET, BASE_SET = Module.get_extra_state, Module.set_extra_state

local function collect(module, state, prefix, keep_vars)
  run_hooks(module, '_state_dict_pre_hooks', prefix, keep_vars)
  each_own(module, function(name, tensor) state[prefix .. name] = keep_vars and tensor or tensor:detach() end)
  if module.get_extra_state ~= BASE_GET then state[prefix .. EXTRA] = module:get_extra_state() end
  for name, child in module:_own '_modules' do collect(child, state, prefix .. name .. '.', keep_vars) end
  run_hooks(module, '_state_dict_post_hooks', state, prefix, {})
  return state
end

---Returns parameters and persistent buffers by name, in order. The tensors share memory with the module.
---
---```lua
---local torch = require 'torch'
---local a, b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
---b:load_state_dict(a:state_dict())
---assert(torch.equal(a.weight, b.weight))
---```
---@param options? {destination: table, prefix: string, keep_vars: boolean} prefix includes its dot, as in PyTorch;
---  destination: a base.ordered map to add to
---@return table<string, torch.Tensor> state a base.ordered map
function Module:state_dict(options)
  options = args.options(options, {'destination', 'prefix', 'keep_vars'}, 'state_dict')
  return collect(self, options.destination or ordered.new(), options.prefix or '', options.keep_vars)
end

local function quoted(names)
  local out = {}
  for i, name in ipairs(names) do out[i] = ('"%s"'):format(name) end
  return table.concat(out, ', ')
end

local function raise_load_error(self, problems)
  errors.raise('argument', ('Error(s) in loading state_dict for %s:\n\t%s'):format(class.of(self).__name,
    table.concat(problems, '\n\t')))
end

local function shape_text(tensor) return tostring(tensor.shape) end

-- A tensor of one element without dimensions accepts a list of one, as saved by PyTorch before 0.4.
local function fitted(given, tensor)
  if #tensor.shape == 0 and #given.shape == 1 and given.shape[1] == 1 then return given[0] end
  return given
end

local function plan_tensor(load, module, key, name, tensor)
  local given = load.state[key]
  if given == nil then
    load.missing[#load.missing + 1] = key
  elseif not is_tensor(given) then
    load.problems[#load.problems + 1] = ('While copying the parameter named "%s", expected a Tensor from checkpoint but '
      .. 'received %s'):format(key, Module._describe(given))
  else
    given = fitted(given, tensor)
    if shape_text(given) ~= shape_text(tensor) then
      load.problems[#load.problems + 1] = ('size mismatch for %s: copying a param with shape %s from checkpoint, '
        .. 'the shape in current model is %s.'):format(key, shape_text(given), shape_text(tensor))
    else
      load.plan[#load.plan + 1] = {module = module, name = name, tensor = tensor, given = given}
    end
  end
end

local function plan_extra(load, module, prefix)
  local key = prefix .. EXTRA
  local given = load.state[key]
  if module.set_extra_state == BASE_SET then
    if given ~= nil then load.unexpected[#load.unexpected + 1] = key end
  elseif given == nil then
    load.missing[#load.missing + 1] = key
  else
    load.plan[#load.plan + 1] = {module = module, extra = given}
  end
end

-- Records keys below the prefix that match no name in this module; its children check their own keys.
local function note_unexpected(load, module, prefix, keys, own_names)
  for _, key in ipairs(keys) do
    local rest = key:sub(#prefix + 1)
    local first = rest:match '^([^.]*)%.'
    local is_known = rest == EXTRA or own_names[rest]
    if first then is_known = module._kinds[first] == 'module' end
    if not is_known then load.unexpected[#load.unexpected + 1] = key end
  end
end

local function below(keys, prefix)
  local out = {}
  for _, key in ipairs(keys) do
    if key:sub(1, #prefix) == prefix then out[#out + 1] = key end
  end
  return out
end

-- `keys` are the keys of the state that begin with the prefix.
local function plan_module(load, module, prefix, keys)
  if module._prepare_state then module:_prepare_state(load.state, prefix) end
  if module._fields._load_pre_hooks then
    run_hooks(module, '_load_pre_hooks', load.state, prefix, {}, true, load.missing, load.unexpected, load.problems)
    keys = below(ordered.keys_of(load.state), prefix)
  end
  local own_names = {}
  each_own(module, function(name, tensor)
    own_names[name] = true
    plan_tensor(load, module, prefix .. name, name, tensor)
  end)
  plan_extra(load, module, prefix)
  note_unexpected(load, module, prefix, keys, own_names)
  for name, child in module:_own '_modules' do
    local child_prefix = prefix .. name .. '.'
    plan_module(load, child, child_prefix, below(keys, child_prefix))
  end
  if module._fields._load_post_hooks then load.hooked[#load.hooked + 1] = module end
end

local function assign_tensor(step)
  local given, old = step.given, step.tensor
  if parameter.is_parameter(old) then
    if not parameter.is_parameter(given) then given = parameter.Parameter(given) end
    given.requires_grad = old.requires_grad
  end
  step.module[step.name] = given
end

local function carry_out(plan, assign)
  require('torch').no_grad(function()
    for _, step in ipairs(plan) do
      if step.extra ~= nil then
        step.module:set_extra_state(step.extra)
      elseif assign then
        assign_tensor(step)
      else
        step.tensor:copy_(step.given)
      end
    end
  end)
end

local function raise_incompatible(self, load, strict)
  local problems = load.problems
  if strict and #load.unexpected > 0 then
    table.insert(problems, 1, ('Unexpected key(s) in state_dict: %s. '):format(quoted(load.unexpected)))
  end
  if strict and #load.missing > 0 then
    table.insert(problems, 1, ('Missing key(s) in state_dict: %s. '):format(quoted(load.missing)))
  end
  if #problems > 0 then raise_load_error(self, problems) end
end

-- Pre-hooks may change the state, so they get a copy of the map.
local function copy_of(state, keys)
  local copy = ordered.new()
  for _, key in ipairs(keys) do copy[key] = state[key] end
  return copy
end

-- The result of load_state_dict is printed as in Python.
local IncompatibleKeys = {}

function IncompatibleKeys.__tostring(result)
  if #result.missing_keys + #result.unexpected_keys == 0 then return '<All keys matched successfully>' end
  return ('IncompatibleKeys(missing_keys=[%s], unexpected_keys=[%s])'):format(quoted(result.missing_keys),
    quoted(result.unexpected_keys))
end

local load_signature = args.signature('load_state_dict', {'state_dict', {'strict', true}, {'assign', false}})

---Copies the tensors of a state_dict into the module. If it raises an error, nothing is changed. Arguments: state_dict,
---{strict = true (missing and unexpected names are errors), assign = false (true: the module uses the given tensors
---themselves; make the optimizer afterwards)}.
---@param ... any
---@return {missing_keys: string[], unexpected_keys: string[]} result is printed as Python's
---Raises code 'argument' with every missing and unexpected name and every wrong shape. Post-hooks run after the copy;
---only names that they leave in the lists are errors.
function Module:load_state_dict(...)
  local first = ...
  if type(first) ~= 'table' or class.of(first) then
    errors.raise('argument', ('load_state_dict: expected a state_dict, got %s'):format(Module._describe(first)))
  end
  -- A state_dict with only string keys would be treated as keywords.
  local options = select('#', ...) > 1 and load_signature:bind('', select(2, ...)) or {strict = true, assign = false}
  local keys = ordered.keys_of(first)
  for _, key in ipairs(keys) do
    if type(key) ~= 'string' then
      errors.raise('argument', ('load_state_dict: expected a state_dict, whose keys are names, got a %s with the key %s')
        :format(#first > 0 and 'list' or 'table', tostring(key)))
    end
  end
  local load = {state = copy_of(first, keys), missing = {}, unexpected = {}, problems = {}, plan = {}, hooked = {}}
  plan_module(load, self, '', keys)
  raise_incompatible(self, load, options.strict and #load.hooked == 0)
  carry_out(load.plan, options.assign)
  local result = setmetatable({missing_keys = load.missing, unexpected_keys = load.unexpected}, IncompatibleKeys)
  for _, module in ipairs(load.hooked) do run_hooks(module, '_load_post_hooks', result) end
  if #load.hooked > 0 then raise_incompatible(self, load, options.strict) end
  return result
end

---Runs fn(module, prefix, keep_vars) before this module's part of a state_dict is made.
---@param fn fun(module: nn.Module, prefix: string, keep_vars: boolean)
---@return {remove: fun()} handle
function Module:register_state_dict_pre_hook(fn) return add_hook(self, '_state_dict_pre_hooks', fn) end

---Runs fn(module, state, prefix, local_metadata) after state_dict of this module and those below; it changes `state` in
---place.
---@param fn fun(module: nn.Module, state: table, prefix: string, local_metadata: table)
---@return {remove: fun()} handle
function Module:register_state_dict_post_hook(fn) return add_hook(self, '_state_dict_post_hooks', fn) end

---Runs fn(module, state, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) before this module
---loads its part of a state_dict; `state` is a copy, which fn may change in place.
---@param fn function
---@return {remove: fun()} handle
function Module:register_load_state_dict_pre_hook(fn) return add_hook(self, '_load_pre_hooks', fn) end

---Runs fn(module, {missing_keys, unexpected_keys}) after load_state_dict; names that it removes from the lists are not
---errors.
---@param fn fun(module: nn.Module, incompatible_keys: {missing_keys: string[], unexpected_keys: string[]})
---@return {remove: fun()} handle
function Module:register_load_state_dict_post_hook(fn) return add_hook(self, '_load_post_hooks', fn) end

return Module
