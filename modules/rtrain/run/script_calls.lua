-- rtrain/run/script_calls.lua: what the controller asks the script while a run goes on: name → a function that answers.
--
-- The controller's threads may not touch Lua. They post an event {type = 'call', id, name, argument}, and the thread that
-- called fit() answers it between two others (host/train/run/script_calls.h).

local class = require 'base.class'
local errors = require 'base.errors'

local ScriptCalls = class('ScriptCalls')

function ScriptCalls:init() self._handlers, self._later = {}, {} end

---Has the calls of that name answered by the function.
---@param name string such as 'storage.put'
---@param fn fun(argument: any): any plain data; what it raises is raised where it was asked
function ScriptCalls:on(name, fn) self._handlers[name] = fn end

---Has the calls of that name given to the function, which has them answered when it can.
---@param name string
---@param fn fun(argument: any, answer: fun(ok: boolean, value: any)) answer(true, value) or answer(false, err), once
function ScriptCalls:on_later(name, fn) self._later[name] = fn end

-- The answer may be no plain data: then that is the error.
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
