-- rtrain/psutil.lua: train.psutil: the load of this machine, with the function names of Python's psutil.

local errors = require 'base.errors'

---@class rtrain.psutil
local psutil = {}

local function read_lines(path)
  local file, problem = io.open(path, 'r')
  if not file then errors.raise('environment', 'psutil: cannot read ' .. problem) end
  local lines = {}
  for line in file:lines() do lines[#lines + 1] = line end
  file:close()
  return lines
end

local function percent(part, whole)
  return whole > 0 and math.floor(part / whole * 1000 + 0.5) / 10 or 0
end

-- Returns the fields of /proc/meminfo in bytes, by name.
local function memory_info()
  local info = {}
  for _, line in ipairs(read_lines '/proc/meminfo') do
    local name, kib = line:match '^(%S+):%s+(%d+) kB'
    if name then info[name] = tonumber(kib) * 1024 end
  end
  return info
end

---Returns the memory of the machine as Linux reports it; the limit of a container is not considered.
---@return {total: integer, available: integer, percent: number, used: integer, free: integer} memory bytes; percent is the
---  share that is not available, 0 … 100
---Python equivalent: psutil.virtual_memory.
---
---```lua
---local psutil = require('rtrain').psutil
---local memory = psutil.virtual_memory()
---assert(memory.available <= memory.total and memory.percent <= 100)
---```
function psutil.virtual_memory()
  local info = memory_info()
  local total, available = info.MemTotal, info.MemAvailable
  return {total = total, available = available, percent = percent(total - available, total), used = total - available,
          free = info.MemFree}
end

-- Returns the ticks of all cores since boot: the total, and the part in which they worked. The time of guests is
-- already part of the user time.
local function cpu_times()
  local user, nice, system, idle, iowait, irq, softirq, steal =
    read_lines('/proc/stat')[1]:match('^cpu%s+' .. ('(%d+)%s+'):rep(7) .. '(%d+)')
  local working = user + nice + system + irq + softirq + steal
  return working + idle + iowait, working
end

local last_total, last_working

---Returns the share of time in which the machine's cores worked since the last call; the first call returns 0. Python
---equivalent: psutil.cpu_percent with interval = None.
---@return number percent 0 … 100
---
---```lua
---local psutil = require('rtrain').psutil
---assert(psutil.cpu_percent() >= 0 and psutil.cpu_percent() <= 100)
---```
function psutil.cpu_percent()
  local total, working = cpu_times()
  local before_total, before_working = last_total or total, last_working or working
  last_total, last_working = total, working
  -- The kernel may decrease iowait.
  return percent(math.max(0, working - before_working), math.max(total - before_total, working - before_working))
end

return require 'base.namespace'('train.psutil', nil, psutil)
