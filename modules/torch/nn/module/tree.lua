-- torch/nn/module/tree.lua: nn.Module: iterates over the modules, parameters and buffers below a module.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local parameter = require 'torch.nn.parameter'

---@class nn.Module
local Module = require 'torch.nn.module.base'

local function joined(prefix, name) return prefix == '' and name or prefix .. '.' .. name end

-- Collects {name, module} of this module and all below; with `seen` each module once.
local function walk(self, prefix, seen, out)
  if seen and seen[self] then return out end
  if seen then seen[self] = true end
  out[#out + 1] = {prefix, self}
  for name, child in self:_own '_modules' do walk(child, joined(prefix, name), seen, out) end
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

local function first_of(options) return options.remove_duplicate ~= false and {} or nil end

-- Collects {name, tensor} of this module and those below, each tensor once unless the options say otherwise.
local function members(self, list, options)
  local prefix, seen, out = options.prefix or '', first_of(options), {}
  local modules = {{prefix, self}}
  if options.recurse ~= false then modules = walk(self, prefix, first_of(options), {}) end
  for _, entry in ipairs(modules) do
    for name, tensor in entry[2]:_own(list) do
      if not (seen and seen[tensor]) then
        if seen then seen[tensor] = true end
        out[#out + 1] = {joined(entry[1], name), tensor}
      end
    end
  end
  return out
end

---Iterates over name, module: this module ('') and all modules below it.
---@param options? {prefix: string, remove_duplicate: boolean} remove_duplicate = false: shared modules under each name
---@return fun(): string, nn.Module
function Module:named_modules(options)
  options = args.options(options, {'prefix', 'remove_duplicate'}, 'named_modules')
  return iterator(walk(self, options.prefix or '', first_of(options), {}))
end

---Returns this module and all modules below it.
---@param options? {remove_duplicate: boolean}
---@return nn.Module[]
function Module:modules(options)
  options = args.options(options, {'remove_duplicate'}, 'modules')
  return values(walk(self, '', first_of(options), {}))
end

local function child_entries(self)
  local seen, out = {}, {}
  for name, child in self:_own '_modules' do
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

---@return nn.Module[] children the direct children
function Module:children() return values(child_entries(self)) end

-- Modules whose plain tables were checked.
local looked_at = setmetatable({}, {__mode = 'k'})

local function warn_of_unregistered(self)
  if looked_at[self] then return end
  looked_at[self] = true
  require 'torch.nn.module.unregistered'(self:modules())
end

local MEMBER_OPTIONS = {'prefix', 'recurse', 'remove_duplicate'}

---Iterates over name, parameter, in the order of registration; shared parameters appear once.
---@param options? {prefix: string, recurse: boolean, remove_duplicate: boolean} recurse = false: only this module's own
---@return fun(): string, torch.Tensor
function Module:named_parameters(options)
  options = args.options(options, MEMBER_OPTIONS, 'named_parameters')
  if options.recurse ~= false then warn_of_unregistered(self) end
  return iterator(members(self, '_parameters', options))
end

---Returns the parameters in the order of registration, shared ones once, as optimizers take them.
---@param options? {recurse: boolean} false: only this module's own
---@return torch.Tensor[]
function Module:parameters(options)
  options = args.options(options, {'recurse'}, 'parameters')
  if options.recurse ~= false then warn_of_unregistered(self) end
  return values(members(self, '_parameters', options))
end

---Iterates over name, buffer.
---@param options? {prefix: string, recurse: boolean, remove_duplicate: boolean}
---@return fun(): string, torch.Tensor
function Module:named_buffers(options)
  return iterator(members(self, '_buffers', args.options(options, MEMBER_OPTIONS, 'named_buffers')))
end

---@param options? {recurse: boolean} false: only this module's own
---@return torch.Tensor[]
function Module:buffers(options)
  return values(members(self, '_buffers', args.options(options, {'recurse'}, 'buffers')))
end

-- Returns the value of `name` in `list` of `found`; `path` is for the message.
local function registered(found, kind, name, path)
  if found._sync then found:_sync() end
  if found._kinds[name] == kind and found._fields[name] ~= nil then return found._fields[name] end
  local names = {}
  for known in found:_own('_' .. kind .. 's') do names[#names + 1] = known end
  errors.raise('argument', ("%s has no %s '%s' (in '%s')%s"):format(class.of(found).__name, kind, name, path,
    errors.suggestion(name, names)))
end

---Returns the module at a dotted path of names, as in state_dict: 'features.0'. The empty path is the module itself.
---@param path string
---@return nn.Module
---Raises code 'argument' if a name on the path is not a module.
function Module:get_submodule(path)
  local found = self
  for name in path:gmatch '[^.]+' do found = registered(found, 'module', name, path) end
  return found
end

local function split(path)
  local owner, name = path:match '^(.*)%.([^.]+)$'
  return owner or '', name or path
end

---Sets the module at a dotted path of names.
---@param path string
---@param module nn.Module
---@param options? {strict: boolean} strict = true: only replaces an existing module
function Module:set_submodule(path, module, options)
  options = args.options(options, {'strict'}, 'set_submodule')
  if options.strict then self:get_submodule(path) end
  local owner, name = split(path)
  local found = self:get_submodule(owner)
  if type(found[name]) ~= 'nil' and not class.is(found[name], Module) then
    errors.raise('argument', ("set_submodule: '%s' is not a module"):format(path))
  end
  if found._set then return found:_set(name, module) end
  found:add_module(name, module)
end

---Returns the parameter at a dotted path: 'features.0.weight'.
---@param path string
---@return torch.Tensor
function Module:get_parameter(path)
  local owner, name = split(path)
  return registered(self:get_submodule(owner), 'parameter', name, path)
end

---Returns the buffer at a dotted path: 'norm.running_mean'.
---@param path string
---@return torch.Tensor
function Module:get_buffer(path)
  local owner, name = split(path)
  return registered(self:get_submodule(owner), 'buffer', name, path)
end

---Puts this module and all modules below it into training mode.
---@param mode? boolean default true
---@return nn.Module self
function Module:train(mode)
  if mode ~= nil and type(mode) ~= 'boolean' then
    errors.raise('argument', ('train: the mode is a boolean, got %s'):format(type(mode)))
  end
  rawset(self, 'training', mode ~= false)
  for _, child in ipairs(self:children()) do child:train(mode) end
  return self
end

---Sets evaluation mode: dropout is off, batch norm uses its running statistics.
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

---Sets whether the parameters are trained: false freezes the module.
---@param value? boolean default true
---@return nn.Module self
function Module:requires_grad_(value)
  for _, param in ipairs(self:parameters()) do param.requires_grad = value ~= false end
  return self
end

---Drops the gradients of all parameters (`set_to_none = false` zeroes them).
---@param options? {set_to_none: boolean}
function Module:zero_grad(options)
  if type(options) == 'boolean' then options = {set_to_none = options} end
  options = args.options(options, {'set_to_none'}, 'zero_grad')
  parameter.zero_grads(self:parameters(), options.set_to_none ~= false)
end

return Module
