-- base/phases.lua: records the phases of this rank's train function. Does nothing without a run.

local system = require 'base._system'

-- The same phases as in host/base/phase_clock.h.
local DATA, BACKWARD, OPTIMIZER, CHECKPOINT = 1, 3, 4, 6

local enter, leave = system.enter_phase, system.leave_phase

local function left(depth, ...)
  leave(depth)
  return ...
end

local phases = {DATA = DATA, BACKWARD = BACKWARD, OPTIMIZER = OPTIMIZER, CHECKPOINT = CHECKPOINT, enter = enter, leave = leave}

---Returns a function that calls fn and counts its time for the phase. If fn raises an error, the phase stays open until
---the next call.
---@param phase integer one of the constants of this module
---@param fn function
---@return function
function phases.timed(phase, fn)
  return function(...) return left(enter(phase), fn(...)) end
end

return phases
