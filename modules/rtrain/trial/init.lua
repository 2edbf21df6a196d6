-- rtrain/trial/init.lua: what a process of a trial knows about its sweep: from `RTRAIN_TRIAL`, '<socket>:<number>:<pid>'.
--
-- The sweep starts each trial as a process of its own, `rtrain run`, which ends with it. That process's workers tell the sweep
-- of their reports over a socket of the runtime folder.

local errors = require 'base.errors'

local link = {}

local is_own  -- of the process that called begin(): whether the variable means it

---@class rtrain.tune.Link
---@field socket string
---@field number integer of the trial

local function parsed()
  local socket, number, pid = (os.getenv 'RTRAIN_TRIAL' or ''):match '^([^:]+):(%d+):(%d+)$'
  if socket == nil then return nil end
  return {socket = socket, number = tonumber(number), pid = tonumber(pid)}
end

---The value of the variable, for a trial's process.
---@param socket string
---@param number integer
---@return string
function link.text(socket, number) return ('%s:%d:%d'):format(socket, number, require('rtrain._tune').pid()) end

---For the process that calls fit(): whether it is a trial's. It ends with its sweep then. A program that a trial has started
---inherits the variable, and is none.
---@return boolean
function link.begin()
  if is_own ~= nil then return is_own end
  local given = parsed()
  is_own = given ~= nil and require('rtrain._tune').die_with_parent(given.pid)
  return is_own
end

---The link of a worker, or of the process that called fit() in local mode; nil outside a trial.
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
