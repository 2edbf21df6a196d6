-- rtrain/session/timing.lua: records the times of the phases of this rank's train function in the series of its run.

local monotonic = require('base._system').monotonic

local timing = {}

-- Seconds between two records, which limits their cost.
local RECORD_S = 0.5

local NAMES = {'data', 'forward', 'backward', 'optimizer', 'communication', 'wait', 'checkpoint', 'report', 'other'}

local WITHOUT_TRAINING = {checkpoint = true, report = true, other = true}

local recorded = setmetatable({}, {__mode = 'k'})  -- state → time of the last record

-- Returns no points for a train function without any of these phases.
local function points_of(seconds)
  local points, is_training = {}, false
  for _, name in ipairs(NAMES) do
    points[('time/%s_s'):format(name)] = seconds[name]
    is_training = is_training or not WITHOUT_TRAINING[name] and seconds[name] > 0
  end
  return is_training and points or nil
end

---Writes the times so far into the run's record, at most every RECORD_S seconds.
---@param state table state of the session
---@param is_last? boolean write in any case
function timing.record(state, is_last)
  local now = monotonic()
  if not (is_last or now >= (recorded[state] or 0) + RECORD_S) then return end
  recorded[state] = now
  local host = require 'rtrain._worker'
  local seconds, steps = host.phase_seconds()
  local points = points_of(seconds)
  if points then host.log_own(points, steps) end
end

return timing
