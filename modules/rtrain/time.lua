-- rtrain/time.lua: train.time: a monotonic clock and a pause, with the function names of Python's time.

local errors = require 'base.errors'
local ffi = require 'ffi'
local system = require 'base._system'

---@class rtrain.time
local time = {}

---Returns the seconds of a clock that never goes back and is the same for all processes of this machine. Only
---differences are meaningful. Python equivalent: time.monotonic, time.perf_counter.
---@return number seconds
---
---```lua
---local time = require('rtrain').time
---local start = time.monotonic()
---assert(time.monotonic() >= start)
---```
function time.monotonic() return system.monotonic() end

---Another name of monotonic.
---@return number seconds
function time.perf_counter() return system.monotonic() end

ffi.cdef 'int poll(void *descriptors, unsigned long count, int timeout_ms);'

-- sleep waits in slices of at most this length, so that hooks which end the train function run between two slices.
local LONGEST_SLICE_S = 0.05

---Waits. What ends the workers of a run ends the wait too: an error of another rank, `rtrain stop --now`. A stop at the
---next checkpoint does not. Python equivalent: time.sleep.
---@param seconds number 0 or more
---
---```lua
---local time = require('rtrain').time
---local start = time.monotonic()
---time.sleep(0.01)
---assert(time.monotonic() - start >= 0.01)
---```
function time.sleep(seconds)
  local is_time = type(seconds) == 'number' and seconds >= 0 and seconds < math.huge
  if not is_time then
    errors.raise('argument', ('train.time.sleep: expected seconds of 0 or more, got %s'):format(tostring(seconds)))
  end
  local stop = system.monotonic() + seconds
  repeat
    local left = stop - system.monotonic()
    ffi.C.poll(nil, 0, math.max(0, math.ceil(1000 * math.min(left, LONGEST_SLICE_S))))
  until system.monotonic() >= stop
end

return require 'base.namespace'('train.time', nil, time)
