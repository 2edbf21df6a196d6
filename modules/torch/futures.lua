-- torch/futures.lua: torch.futures: values that become available later.
--
-- A script has one thread. So the functions of `then_` of a collective's Future run when the script waits for it, or
-- asks whether it is done: in `wait`, `done`, `collect_all`, and at the end of the backward pass for a result of a
-- communication hook.

local class = require 'base.class'
local errors = require 'base.errors'
local show = require 'base.shown'
local warnings = require 'base.warnings'

---A value that becomes available later: the result of a collective (`work:get_future()`), or a value that the script
---sets. PyTorch equivalent: torch.futures.Future.
---
---```lua
---local torch = require 'torch'
---local future = torch.futures.Future()
---local doubled = future:then_(function(done) return done:value() * 2 end)
---assert(not doubled:done())
---future:set_result(21)
---assert(doubled:wait() == 42)
---```
---@class Future
---@overload fun(options?: table): Future
local Future = class('Future')

---@param options? {devices: any} accepted as in PyTorch: a Future may hold tensors of any device
function Future:init(options)
  require('base.args').options(options, {'devices'}, 'Future')
  self._is_done = false
  self._value, self._error = nil, nil
  self._callbacks = {}
end

local function check_function(name, fn)
  if type(fn) ~= 'function' then errors.raise('argument', ('Future:%s: expected a function, got %s'):format(name, show(fn))) end
end

local function check_open(self, name)
  if self._is_done then errors.raise('user', ('Future:%s: this Future has completed before: it does so once'):format(name)) end
end

local function complete(self, value, err)
  self._is_done, self._value, self._error = true, value, err
  self._wait_for, self._is_ready = nil, nil
  local callbacks = self._callbacks
  self._callbacks = {}
  for _, callback in ipairs(callbacks) do callback() end
end

local function complete_with(self, ok, value)
  if ok then return complete(self, value) end
  complete(self, nil, value)
end

-- Completes the Future.
local function settle(self)
  local wait_for = self._wait_for
  if self._is_done or not wait_for then return end
  self._wait_for = nil  -- a function of then_ that waits for its own Future must not wait again
  wait_for()
end

local function when_done(self, callback)
  if self._is_done then return callback() end
  self._callbacks[#self._callbacks + 1] = callback
end

-- Returns a Future that completes with the result of the function, which may wait.
local function of_function(fn, is_ready)
  local future = Future()
  future._wait_for = function() complete_with(future, xpcall(fn, errors.wrap)) end
  future._is_ready = is_ready
  return future
end

---@return boolean done whether it has completed; the call also completes results that have become ready
function Future:done()
  if not self._is_done and self._is_ready and self._is_ready() then settle(self) end
  return self._is_done
end

-- Returns whether nothing can complete the Future any more.
function Future:_is_orphan() return not self._is_done and self._wait_for == nil end

---Waits until it has completed.
---@return any value Raises the Future's error; code 'user' if nothing in progress can complete it.
function Future:wait()
  settle(self)
  if not self._is_done then
    errors.raise('user', 'Future:wait: nothing completes this Future: call set_result or set_exception first, or wait for '
      .. 'one that comes from a collective')
  end
  if self._error ~= nil then error(self._error, 0) end
  return self._value
end

---@return any value of a completed Future; for a collective the list of its outputs, `value()[1]`. Raises the Future's
---  error; code 'user' before it has completed.
function Future:value()
  if not self._is_done then errors.raise('user', 'Future:value: it has not completed yet: call wait') end
  return self:wait()
end

---Returns a Future for the result of the function. The function is called with this Future when it has completed or
---failed; in the latter case `value` raises the error. PyTorch equivalent: Future.then (a keyword of Lua).
---@param callback fun(completed: Future): any
---@return Future
function Future:then_(callback)
  check_function('then_', callback)
  local child = Future()
  child._wait_for = function() settle(self) end
  child._is_ready = function() return self:done() end
  when_done(self, function() complete_with(child, xpcall(function() return callback(self) end, errors.wrap)) end)
  return child
end

---Calls the function with this Future when it has completed. An error of the function becomes a warning.
---@param callback fun(completed: Future)
function Future:add_done_callback(callback)
  check_function('add_done_callback', callback)
  when_done(self, function()
    local ok, err = pcall(callback, self)
    if not ok then warnings.warn('Future:add_done_callback: ' .. tostring(err)) end
  end)
end

---Completes the Future with a value.
---@param result any
function Future:set_result(result)
  check_open(self, 'set_result')
  complete(self, result)
end

---Completes the Future with an error, which `wait` and `value` raise.
---@param result any an error
function Future:set_exception(result)
  check_open(self, 'set_exception')
  complete(self, nil, result == nil and 'nil' or result)
end

local futures = {Future = Future}

local function check_futures(name, list)
  if type(list) ~= 'table' then
    errors.raise('argument', ('%s: expected a list of Futures, got %s'):format(name, show(list)))
  end
  for i, each in ipairs(list) do
    if not class.is(each, Future) then
      errors.raise('argument', ('%s: entry %d is %s, expected a Future'):format(name, i, show(each)))
    end
  end
  return list
end

---Returns a Future of the list, which completes when all its Futures have. PyTorch equivalent:
---torch.futures.collect_all.
---@param list Future[]
---@return Future
function futures.collect_all(list)
  check_futures('collect_all', list)
  local function are_ready()
    for _, each in ipairs(list) do
      if not each:done() then return false end
    end
    return true
  end
  local all = of_function(function()
    for _, each in ipairs(list) do
      settle(each)
      if not each._is_done then each:wait() end  -- raises the error
    end
    return list
  end, are_ready)
  all:done()
  return all
end

---Waits for all Futures. PyTorch equivalent: torch.futures.wait_all.
---@param list Future[]
---@return any[] values Raises the error of the first Future that failed.
function futures.wait_all(list)
  local values = {}
  for i, each in ipairs(futures.collect_all(list):wait()) do values[i] = each:value() end
  return values
end

-- Returns a Future of the function's result; the function may wait, and is_ready returns whether it would not.
futures._of_function = of_function

-- Returns the Future of a Work: its value is the list of the collective's outputs.
function futures._of_work(work)
  return of_function(function()
    work:wait()
    return work:result()
  end, function() return work:is_completed() end)
end

return require 'base.namespace'('torch.futures', nil, futures)
