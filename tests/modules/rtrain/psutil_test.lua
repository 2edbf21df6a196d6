-- train.psutil and train.time: the load of this machine, and a clock.
local lu = require 'luaunit'
local train = require 'rtrain'

local function work(seconds)
  local finish = train.time.monotonic() + seconds
  while train.time.monotonic() < finish do end
end

TestPsutil = {}

function TestPsutil:test_memory_is_what_free_says()
  local memory = train.psutil.virtual_memory()
  local pipe = io.popen 'free -b'
  local total = tonumber(pipe:read('*a'):match 'Mem:%s+(%d+)')
  pipe:close()
  lu.assertEquals(memory.total, total)
  lu.assertEquals(memory.used, memory.total - memory.available)
  lu.assertAlmostEquals(memory.percent, memory.used / memory.total * 100, 0.06)
  lu.assertTrue(memory.free <= memory.total)
end

-- This process alone keeps one core busy: the share must be at least that of half a core.
function TestPsutil:test_cpu_percent_counts_since_the_last_call()
  train.psutil.cpu_percent()
  work(0.2)
  local busy = train.psutil.cpu_percent()
  local pipe = io.popen 'nproc --all'
  local cores = tonumber(pipe:read '*a')
  pipe:close()
  lu.assertTrue(busy > 50 / cores and busy <= 100, tostring(busy))
  lu.assertEquals(busy, math.floor(busy * 10 + 0.5) / 10)
end

function TestPsutil:test_unknown_names()
  local ok, message = pcall(function() return train.psutil.virtual_memry end)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(message), "did you mean 'virtual_memory'?")
end

TestTime = {}

function TestTime:test_clock_goes_on()
  local before = train.time.perf_counter()
  work(0.01)
  local passed = train.time.monotonic() - before
  lu.assertTrue(passed >= 0.01 and passed < 60)
end

os.exit(lu.LuaUnit.run(), true)
