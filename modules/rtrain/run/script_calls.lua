-- rtrain/run/script_calls.lua: ScriptCalls: answers the controller's requests to the script during a run: name →
-- function.
--
-- The controller's threads may not run Lua. They post an event {type = 'call', id, name, argument}, and the thread that
-- called fit() answers it between two other events (host/train/run/script_calls.h).

local class = require 'base.class'
local errors = require 'base.errors'

local ScriptCalls = class('ScriptCalls')

function ScriptCalls:init() self._handlers, self._later = {}, {} end

---Registers the function that answers the calls of that name.
---@param name string such as 'storage.put'
---@param fn fun(argument: any): any returns plain data; its errors are raised at the caller
function ScriptCalls:on(name, fn) self._handlers[name] = fn end

---Registers a function that answers the calls of that name later, when it can.
---@param name string
---@param fn fun(argument: any, answer: fun(ok: boolean, value: any)) calls answer(true, value) or answer(false, err),
---  once
function ScriptCalls:on_later(name, fn) self._later[name] = fn end

-- An answer that is not plain data becomes an error.
local function give(run, id, ok, value)
  if ok then ok, value = xpcall(run.answer, errors.wrap, run, id, value) end
  if not ok then run:answer_error(id, value) end
end

---Answers one event.
---@param run table of rtrain._controller
---@param event table
function ScriptCalls:answer(run, event)
  local later = self._later[event.name]
  if later then return later(event.argument, function(ok, value) give(run, event.id, ok, value) end) end
  local fn = self._handlers[event.name]
  local ok, value
  if fn == nil then
    ok, value = false, errors.wrap(("nobody answers '%s'"):format(event.name))
  else
    ok, value = xpcall(fn, errors.wrap, event.argument)
  end
  give(run, event.id, ok, value)
end

return ScriptCalls
