-- Utilization and other figures of a GPU from the simulated management library: tests/fake_nvidia/nvml.cpp has the
-- figures.
local lu = require 'luaunit'
local torch = require 'torch'

local cuda = torch.cuda

TestMonitor = {}

function TestMonitor:test_what_a_device_does()
  lu.assertEquals(cuda.utilization(), 97)
  lu.assertEquals({cuda.temperature(0), cuda.temperature 'cuda:1'}, {71, 30})
  lu.assertEquals(cuda.power_draw(), 699500)
  lu.assertEquals(cuda.device_memory_used(), 20 * 2 ^ 30)
end

function TestMonitor:test_who_is_on_it()
  lu.assertEquals(cuda.list_gpu_processes(), 'GPU:0\nprocess       4711 uses    19456.000 MB GPU memory')
  lu.assertEquals(cuda.list_gpu_processes(1), 'GPU:1\nno processes are running')
end

os.exit(lu.LuaUnit.run(), true)
