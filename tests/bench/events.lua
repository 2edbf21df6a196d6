-- Marks moments of a run for the driver: one file for each rank, lines of "seconds pid name value" (monotonic clock).
local ffi = require 'ffi'

ffi.cdef [[
typedef struct { long seconds; long nanoseconds; } bench_time;
int bench_clock(int clock, bench_time *time) __asm__("clock_gettime");
int bench_getpid(void) __asm__("getpid");
int bench_usleep(unsigned microseconds) __asm__("usleep");
]]

local kMonotonic = 1
local time = ffi.new('bench_time')

local Events = {}
Events.__index = Events

---@return number seconds on the monotonic clock, which all processes of the machine share
local function now()
  ffi.C.bench_clock(kMonotonic, time)
  return tonumber(time.seconds) + tonumber(time.nanoseconds) * 1e-9
end

---@param folder string where the driver looks
---@param rank integer
---@return table events with `mark(name, value)`
local function open(folder, rank)
  local file = assert(io.open(('%s/events.%d'):format(folder, rank), 'a'))
  file:setvbuf('full')
  return setmetatable({_file = file, _pid = ffi.C.bench_getpid()}, Events)
end

function Events:mark(name, value)
  self._file:write(('%.6f %d %s %.9g\n'):format(now(), self._pid, name, value or 0))
  self._file:flush()
end

---Returns events of a process that does not ask for its rank yet: their marks are kept until `open(rank)`.
---@param folder string where the driver looks
---@return table events with `mark(name)`, and `open(rank)`, which returns the events of a rank
local function early(folder)
  local times = {}
  return {
    mark = function(_, name) times[#times + 1] = {name, now()} end,
    open = function(_, rank)
      local events = open(folder, rank)
      for _, each in ipairs(times) do
        events._file:write(('%.6f %d %s 0\n'):format(each[2], events._pid, each[1]))
      end
      return events
    end,
  }
end

---@param seconds number below 1
local function sleep(seconds)
  ffi.C.bench_usleep(seconds * 1e6)
end

return {now = now, open = open, early = early, sleep = sleep}
