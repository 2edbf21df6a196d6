-- gpu: at most 60 s
-- torch.profiler with the device's activity: kernels are in the trace and count towards their operators.
local lu = require 'luaunit'
local torch = require 'torch'

TestProfilerOnDevice = {}

function TestProfilerOnDevice:test_kernels_count_for_their_operators()
  local x = torch.rand(512, 512, {device = 'cuda'})
  x:mm(x)
  torch.cuda.synchronize()
  local prof
  torch.profiler.profile({profile_memory = true}, function(p)
    prof = p
    for _ = 1, 3 do x:mm(x):relu() end
    torch.cuda.synchronize()
  end)
  local averages = prof:key_averages()
  local product = averages:find 'aten::mm'
  lu.assertEquals(product.count, 3)
  lu.assertTrue(product.device_time_total > 0, 'the kernel has a time')
  lu.assertTrue(product.device_memory_usage >= 3 * 512 * 512 * 4)
  local kernels = 0
  for _, event in ipairs(averages) do
    if event.device_type == 'cuda' and not event.is_user_annotation then kernels = kernels + event.count end
  end
  lu.assertTrue(kernels >= 6, 'three products and three relus: ' .. kernels)
  lu.assertTrue(averages:find('cudaLaunchKernel') ~= nil or averages:find('cuLaunchKernelEx') ~= nil
    or averages:find('cudaLaunchKernelExC') ~= nil)
  local text = averages:table{sort_by = 'self_cuda_time_total', row_limit = 5}
  lu.assertStrContains(text, 'Self CUDA %')
  lu.assertStrContains(text, 'Self CUDA time total: ')
end

function TestProfilerOnDevice:test_the_trace_has_kernels_and_their_launches()
  local path = os.tmpname()
  local prof
  torch.profiler.profile({with_stack = true}, function(p)
    prof = p
    torch.ones(8, {device = 'cuda'}):add(1)
    torch.cuda.synchronize()
  end)
  prof:export_chrome_trace(path)
  local file = assert(io.open(path))
  local text = file:read '*a'
  file:close()
  os.remove(path)
  for _, part in ipairs{'"cat": "kernel"', '"cat": "cuda_runtime"', '"cat": "ac2g"', 'profiler_test.lua:'} do
    lu.assertTrue(text:find(part, 1, true) ~= nil, part)
  end
end

function TestProfilerOnDevice:test_all_threads_and_again()
  for _ = 1, 3 do
    local prof
    torch.profiler.profile({experimental_config = {profile_all_threads = true}}, function(p)
      prof = p
      torch.ones(8, {device = 'cuda'}):mul(2)
      torch.cuda.synchronize()
    end)
    lu.assertTrue(prof:key_averages():find('aten::mul').device_time_total > 0)
  end
end

os.exit(lu.LuaUnit.run(), true)
