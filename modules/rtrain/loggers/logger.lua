-- rtrain/loggers/logger.lua: the base of train.loggers: callbacks that pass on what a run records to another program.
--
-- A thread of the script's process reads the run store and sends what is new (host/track/follower.h), so a step never
-- waits for a tracker, and what could not be sent lies in the store until it can.

local args = require 'base.args'
local errors = require 'base.errors'
local UserCallback = require 'rtrain.callbacks.user_callback'

local FINISH_TIMEOUT_S = 10

local Logger = UserCallback:extend('Logger')

---Takes the options from a table and checks each.
---@param given table|nil
---@param checks table<string, fun(value: any): string?> option → function that returns what is wrong
---@return table options a copy
function Logger:_checked(given, checks)
  local owner, names = 'train.loggers.' .. self.__name, {}
  for name in next, checks do names[#names + 1] = name end
  table.sort(names)
  local options = {}
  for name, value in next, args.options(given, names, owner, 'config') do
    local problem = checks[name](value)
    if problem then errors.raise('config', ('%s.%s = %s: %s'):format(owner, name, tostring(value), problem)) end
    options[name] = value
  end
  return options
end

---Begins to follow the run.
---@param run_context TrainRunContext
function Logger:before_run(run_context)
  local place = run_context._place
  self._notice, self._run = place.notice, place.name
  self._follower = require('rtrain._track').follow(place.storage_path, place.name, self._tracker)
end

---Says what has gone wrong since the last report.
function Logger:after_report() self:_tell_problem() end

-- Once: a server that is away for a night is one notice.
function Logger:_tell_problem()
  local problem = self._follower:problem()
  if problem == nil then return end
  self._problem = problem
  if self._has_told then return end
  self._has_told = true
  self._notice(('%s: %s; what the run records is sent when it can be'):format(self.__name, problem))
end

---Waits until all is sent, for 10 s at most.
function Logger:after_run()
  local is_done = self._follower:finish(FINISH_TIMEOUT_S)
  self:_tell_problem()
  if not is_done then
    self._notice(('%s: not all was sent within %d s; `%s` sends the rest'):format(self.__name, FINISH_TIMEOUT_S,
      self:_rest_command(self._run)))
  end
  self._follower:close()
end

return Logger
