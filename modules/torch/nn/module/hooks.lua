-- torch/nn/module/hooks.lua: nn.Module: functions that run before and after forward and backward.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local handle = require 'base.handle'

---@class nn.Module
local Module = require 'torch.nn.module.base'

-- The hooks of one module: lists of {fn, always} for each time at which they run. It is created with the first hook, so
-- that a module without hooks is called directly.
local Hooks = class('Hooks')

function Hooks:init() self.before, self.after, self.backward_before, self.backward_after = {}, {}, {}, {} end

function Hooks:_add(when, fn, options)
  if type(fn) ~= 'function' and not class.of(fn) then
    errors.raise('argument', ('a hook is a function, got %s'):format(type(fn)))
  end
  local list, entry = self[when], {fn = fn, always = options.always_call}
  table.insert(list, options.prepend and 1 or #list + 1, entry)
  return handle(list, entry)
end

local function as_list(value)
  if type(value) == 'table' and not class.of(value) then return {n = value.n or #value, unpack(value, 1, value.n)} end
  return {n = 1, value}
end

-- A hook may add and remove hooks, also itself. Exactly the hooks present at the start of the loop run.
local function now(list) return {unpack(list)} end

function Hooks:_before(module, inputs)
  for _, entry in ipairs(now(self.before)) do
    local replaced = entry.fn(module, inputs)
    if replaced ~= nil then inputs = as_list(replaced) end
  end
  return inputs
end

function Hooks:_after(module, inputs, outputs, done)
  for _, entry in ipairs(now(self.after)) do
    done[entry] = true
    local replaced = entry.fn(module, inputs, outputs.n <= 1 and outputs[1] or outputs)
    if replaced ~= nil then outputs = outputs.n > 1 and as_list(replaced) or {n = 1, replaced} end
  end
  return outputs
end

local function pack(...) return {n = select('#', ...), ...} end

function Hooks:_run(module, done, ...)
  local inputs = self:_before(module, pack(...))
  local backward
  if #self.backward_before + #self.backward_after > 0 then
    backward = require('torch.nn.module.backward')(module, now(self.backward_before), now(self.backward_after))
    inputs = backward:wrap_inputs(inputs)
  end
  local outputs = self:_after(module, inputs, pack(module:forward(unpack(inputs, 1, inputs.n))), done)
  return backward and backward:wrap_outputs(outputs) or outputs
end

-- Hooks with always_call also run after an error, which is raised again.
function Hooks:_run_protected(module, ...)
  local done = {}
  local ok, outputs = pcall(self._run, self, module, done, ...)
  if ok then return outputs end
  for _, entry in ipairs(now(self.after)) do
    if entry.always and not done[entry] then pcall(entry.fn, module, pack(...), nil) end
  end
  error(outputs, 0)
end

---Runs forward with the hooks.
---@param module nn.Module
---@param ... any arguments of the module
---@return any ... the results of forward, or a hook's replacement
function Hooks:call(module, ...)
  local always = false
  for _, entry in ipairs(self.after) do always = always or entry.always end
  local outputs = always and self:_run_protected(module, ...) or self:_run(module, {}, ...)
  return unpack(outputs, 1, outputs.n)
end

-- Python's keyword arguments are passed as the last argument here.
local function check_no_kwargs(name, options)
  if not options.with_kwargs then return end
  errors.raise('unsupported', ('%s: with_kwargs is not in this version: a hook finds the table of keywords as the last of its '
    .. 'inputs'):format(name))
end

local function add(module, name, when, fn, options, allowed)
  options = args.options(options, allowed, name)
  check_no_kwargs(name, options)
  local fields = module._fields
  fields._hooks = fields._hooks or Hooks()
  return fields._hooks:_add(when, fn, options)
end

---Runs fn(module, inputs, output) after every forward; its result, if any, replaces the output. Several outputs are a
---list.
---@param fn fun(module: nn.Module, inputs: any[], output: any): any
---@param options? {prepend: boolean, always_call: boolean} prepend: before the existing hooks; always_call: also if
---  forward raised an error (output is nil then)
---@return {remove: fun()} handle `handle:remove()` removes the hook
function Module:register_forward_hook(fn, options)
  return add(self, 'register_forward_hook', 'after', fn, options, {'prepend', 'always_call', 'with_kwargs'})
end

---Runs fn(module, inputs) before every forward; its result, if any, replaces the inputs: one value or a list.
---@param fn fun(module: nn.Module, inputs: any[]): any
---@param options? {prepend: boolean}
---@return {remove: fun()} handle
function Module:register_forward_pre_hook(fn, options)
  return add(self, 'register_forward_pre_hook', 'before', fn, options, {'prepend', 'with_kwargs'})
end

---Runs fn(module, grad_input, grad_output) when the gradients of the module's inputs are computed; a list that it
---returns replaces grad_input. Both are lists with torch.none where an input is not a tensor or has no gradient.
---@param fn fun(module: nn.Module, grad_input: any[], grad_output: any[]): any[]|nil
---@param options? {prepend: boolean}
---@return {remove: fun()} handle
---
---```lua
---local torch = require 'torch'
---local layer, seen = torch.nn.Linear(2, 1), {}
---local handle = layer:register_full_backward_hook(function(_, grad_input, grad_output)
---  seen = {grad_input[1].shape[2], grad_output[1]:item()}
---end)
---layer(torch.ones(1, 2, {requires_grad = true})):sum():backward()
---handle:remove()
---assert(seen[1] == 2 and seen[2] == 1)
---```
function Module:register_full_backward_hook(fn, options)
  return add(self, 'register_full_backward_hook', 'backward_after', fn, options, {'prepend'})
end

---Runs fn(module, grad_output) before the gradients of the module are computed; a list that it returns replaces
---grad_output.
---@param fn fun(module: nn.Module, grad_output: any[]): any[]|nil
---@param options? {prepend: boolean}
---@return {remove: fun()} handle
function Module:register_full_backward_pre_hook(fn, options)
  return add(self, 'register_full_backward_pre_hook', 'backward_before', fn, options, {'prepend'})
end

return Module
