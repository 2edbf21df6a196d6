-- rtrain/trial/init.lua: links a process of a trial to its sweep, by `RTRAIN_TRIAL`, '<socket>:<number>:<pid>'.
--
-- The sweep starts each trial as a separate `rtrain run` process, which ends with the sweep. The workers of that
-- process send their reports to the sweep over a socket in the runtime folder.

local errors = require 'base.errors'

local link = {}

local is_own  -- whether the variable is meant for the process that called begin()

---@class rtrain.tune.Link
---@field socket string
---@field number integer number of the trial

local function parsed()
  local socket, number, pid = (os.getenv 'RTRAIN_TRIAL' or ''):match '^([^:]+):(%d+):(%d+)$'
  if socket == nil then return nil end
  return {socket = socket, number = tonumber(number), pid = tonumber(pid)}
end

---Returns the value of the variable, for a trial's process.
---@param socket string
---@param number integer
---@return string
function link.text(socket, number) return ('%s:%d:%d'):format(socket, number, require('rtrain._tune').pid()) end

---Returns whether the process that calls fit() belongs to a trial; it then ends with its sweep. A program started by a
---trial inherits the variable but does not belong to it.
---@return boolean
function link.begin()
  if is_own ~= nil then return is_own end
  local given = parsed()
  is_own = given ~= nil and require('rtrain._tune').die_with_parent(given.pid)
  return is_own
end

---Returns the link of a worker, or of the process that called fit() in local mode; nil outside a trial.
---@return rtrain.tune.Link?
function link.current()
  if is_own == false then return nil end
  return parsed()
end

---Raises code 'config' inside a trial, where no sweep can begin.
function link.check_outside()
  if link.begin() then errors.raise('config', 'a Tuner inside a trial of another sweep: a trial cannot start one') end
end

return link
