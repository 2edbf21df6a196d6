-- torch/optim/hooks.lua: lists of functions that run around an optimizer's steps and dictionaries.

local errors = require 'base.errors'
local handle = require 'base.handle'

local hooks = {}

local before_step, after_step

---Sets functions that are called before and after each step of any optimizer of this process.
---@param before? fun(optimizer: torch.optim.Optimizer) nil: no function
---@param after? fun(optimizer: torch.optim.Optimizer)
function hooks.watch_steps(before, after) before_step, after_step = before, after end

---Returns whether a function is called after each step.
---@return boolean
function hooks.is_watching() return after_step ~= nil end

local watch_made, held

---Sets a function that is called with each optimizer of this process after its step, also where a plan of train.compile or a
---graph has made it.
---@param fn? fun(optimizer: torch.optim.Optimizer) nil: no function
function hooks.watch_made(fn) watch_made = fn end

---Optimizers have made a step.
---@param optimizers torch.optim.Optimizer[]
function hooks.made(optimizers)
  if not watch_made then return end
  for _, optimizer in ipairs(optimizers) do
    if held then held[#held + 1] = optimizer else watch_made(optimizer) end
  end
end

local function release(ok, ...)
  local optimizers = held
  held = nil
  if not ok then error((...), 0) end
  hooks.made(optimizers)
  return ...
end

---Calls fn(…), which may be recorded; what watches the steps that it makes comes behind it.
---@param fn fun(...): ...
---@param ... any
---@return any ... the results of fn
function hooks.holding_made(fn, ...)
  if not watch_made or held then return fn(...) end
  held = {}
  return release(xpcall(fn, errors.wrap, ...))
end

---Adds a function to one of the object's lists.
---@param object table
---@param name string the list
---@param fn function
---@param prepend? boolean runs it before the existing functions
---@return {remove: fun()} handle
function hooks.add(object, name, fn, prepend)
  if type(fn) ~= 'function' then
    errors.raise('argument', ('a hook is a function, got %s'):format(type(fn)))
  end
  local all = object._hooks or {}
  object._hooks = all
  local list = all[name] or {}
  all[name] = list
  local entry = {fn}
  table.insert(list, prepend and 1 or #list + 1, entry)
  return handle(list, entry)
end

---Calls the functions of a list in order; a function's result, if any, replaces `value` for the next one.
---@param object table
---@param name string
---@param value any
---@return any value
function hooks.run(object, name, value)
  if after_step and name == 'step_post' then after_step(object) end
  if before_step and name == 'step_pre' then before_step(object) end
  local list = object._hooks and object._hooks[name]
  if not list then return value end
  -- A hook may remove itself.
  for _, entry in ipairs{unpack(list)} do
    local replaced = entry[1](object, value)
    if replaced ~= nil then value = replaced end
  end
  return value
end

return hooks
