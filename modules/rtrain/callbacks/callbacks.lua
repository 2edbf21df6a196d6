-- rtrain/callbacks/callbacks.lua: calls the callbacks of one run in the order of their list. Their errors do not harm
-- the run.

local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local errors = require 'base.errors'
local failure = require 'rtrain.results.failure'
local UserCallback = require 'rtrain.callbacks.user_callback'

local Callbacks = class('Callbacks')

local function name_of(value)
  local found = class.of(value)
  return found and 'a ' .. found.__name or type(value)
end

---Returns the error in a list of callbacks as text, or nil.
---@param list any
---@return string? problem
function Callbacks.problem(list)
  if type(list) ~= 'table' or class.of(list) or class.is_class(list) then return 'expected a list of UserCallback' end
  local count = 0
  for _ in next, list do count = count + 1 end
  if count ~= #list then return 'expected a list of UserCallback, got a table with names' end
  for i, item in ipairs(list) do
    if class.is_class(item) then
      return ('[%d] is the class %s: write %s() to make one'):format(i, item.__name, item.__name)
    end
    if not class.is(item, UserCallback) then
      return ("[%d] is %s: expected an instance of a class made by train.UserCallback:extend('Name')"):format(i, name_of(item))
    end
  end
end

local function load_file(path)
  local chunk, problem = loadfile(path)
  if not chunk then errors.raise('config', 'RTRAIN_CALLBACKS: ' .. problem) end
  local ok, found = xpcall(chunk, errors.wrap)
  if not ok then errors.raise('config', ('RTRAIN_CALLBACKS: %s: %s'):format(path, tostring(found))) end
  local list = class.is(found, UserCallback) and {found} or found
  local wrong = Callbacks.problem(list)
  if wrong then
    errors.raise('config', ('RTRAIN_CALLBACKS: %s returned %s: return a UserCallback or a list of them (%s)'):format(path,
      name_of(found), wrong))
  end
  return list
end

---Returns the callbacks of the files that $RTRAIN_CALLBACKS names.
---@return UserCallback[]
---Raises code 'config' for a file that cannot be read, raises an error, or does not return callbacks.
function Callbacks.of_environment()
  local out = {}
  for path in (os.getenv 'RTRAIN_CALLBACKS' or ''):gmatch '[^,]+' do
    for _, item in ipairs(load_file(path:match '^%s*(.-)%s*$')) do out[#out + 1] = item end
  end
  return out
end

---@param list UserCallback[]
---@param degraded fun(text: string) called at the first error of each function of a callback
function Callbacks:init(list, degraded)
  self._list, self._degraded, self._reported = list, degraded, {}
end

---@return boolean whether the list is empty
function Callbacks:is_empty() return #self._list == 0 end

---Calls a function of the user. Its errors are reported and do not propagate.
---@param what string names the function in the message
---@param fn function
---@param ... any its arguments
---@return boolean ok, any result
function Callbacks:guard(what, fn, ...)
  local ok, result = xpcall(fn, errors.wrap, ...)
  if not ok and not self._reported[what] then
    self._reported[what] = true
    local text = ('callback degraded: %s raised an error, and the run goes on: %s'):format(what, tostring(result))
    self._degraded(result.traceback and result.traceback ~= '' and text .. '\n' .. result.traceback or text)
  end
  return ok, result
end

function Callbacks:_call(hook, ...)
  for i, item in ipairs(self._list) do
    self:guard(('callbacks[%d] %s:%s()'):format(i, class.of(item).__name, hook), item[hook], item, ...)
  end
end

---@param context TrainRunContext
function Callbacks:before_run(context)
  self._context = context
  self:_call('before_run', context)
end

local function own_errors(cause)
  local out = {}
  for rank, err in next, failure.make(cause).ranks do
    if err.code ~= 'peer_lost' then out[rank] = err end
  end
  return out
end

---Calls the callbacks that belong to an event of the controller.
---@param event table
function Callbacks:add(event)
  if #self._list == 0 then return end
  if event.type == 'report' then
    self:_call('after_report', self._context, event.ranks, event.checkpoint and Checkpoint(event.checkpoint) or nil)
  elseif event.type == 'attempt_failed' then
    local exceptions = own_errors(event.error)
    if next(exceptions) ~= nil then self:_call('after_exception', self._context, exceptions) end
  end
end

---@param result Result
function Callbacks:after_run(result) self:_call('after_run', result) end

return Callbacks
