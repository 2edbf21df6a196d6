-- rtrain/time.lua: train.time: a clock for durations, in the words of Python's time.

local system = require 'base._system'

---@class rtrain.time
local time = {}

---Seconds on a clock that never goes back, the same for all processes of this machine: for differences alone.
---Python equivalent: time.monotonic, time.perf_counter.
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

return require 'base.namespace'('train.time', nil, time)
