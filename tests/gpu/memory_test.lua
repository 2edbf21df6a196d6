-- The allocator of a real GPU: statistics, settings, and the garbage of a training script.
-- gpu: alone, at most 90 s
local lu = require 'luaunit'
local torch = require 'torch'

local cuda = torch.cuda
local MIB = 2 ^ 20

TestMemory = {}

function TestMemory:setUp()
  cuda.empty_cache()
  cuda.reset_peak_memory_stats()
end

function TestMemory:test_figures_follow_the_tensors()
  local before = cuda.memory_allocated()
  local x = torch.ones(64 * MIB, {dtype = 'uint8', device = 'cuda'})
  lu.assertEquals(cuda.memory_allocated() - before, 64 * MIB)
  local free = cuda.mem_get_info()
  x:release()
  cuda.empty_cache()
  lu.assertTrue(cuda.mem_get_info() >= free + 64 * MIB)
  lu.assertTrue(cuda.max_memory_allocated() >= before + 64 * MIB)
end

-- Without a policy each step would leave its activations until Lua's own heap asked for a collection.
function TestMemory:test_a_training_loop_stays_near_what_it_needs()
  local model = torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096)):to 'cuda'
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-3})
  local x = torch.randn(4096, 4096, {device = 'cuda'})
  local function step()
    optimizer:zero_grad()
    model(x):pow(2):mean():backward()
    optimizer:step()
  end
  for _ = 1, 3 do step() end
  collectgarbage()
  cuda.reset_peak_memory_stats()
  local held = cuda.memory_allocated()
  for _ = 1, 100 do step() end
  lu.assertTrue(cuda.max_memory_allocated() < held + 3000 * MIB)
end

function TestMemory:test_backward_on_a_nearly_full_device_collects_garbage()
  local _, total = cuda.mem_get_info()
  cuda.set_per_process_memory_fraction(2 ^ 30 / total)
  local x = torch.ones(40 * MIB, {device = 'cuda', requires_grad = true})
  local loss = x:sum()
  collectgarbage 'stop'
  require('torch._C').cuda_graphs.without_collector(function()
    while cuda.memory_allocated() < 900 * MIB do torch.empty(20 * MIB, {dtype = 'uint8', device = 'cuda'}) end
  end)
  loss:backward()
  collectgarbage 'restart'
  cuda.set_per_process_memory_fraction(1)
  lu.assertEquals(x.grad:double():sum():item(), 40 * MIB)
end

function TestMemory:test_a_snapshot_is_written_with_its_history()
  local path = os.tmpname()
  cuda.memory._record_memory_history('all', {stacks = 'all'})
  local x = torch.ones(MIB, {device = 'cuda'})
  cuda.memory._dump_snapshot(path)
  cuda.memory._record_memory_history(torch.none)
  local file = assert(io.open(path, 'rb'))
  local bytes = file:read '*a'
  file:close()
  os.remove(path)
  lu.assertTrue(#bytes > 1000 and bytes:find('device_traces', 1, true) ~= nil)
  lu.assertNotNil(x)
end

function TestMemory:test_expandable_segments_can_be_switched_on()
  cuda.memory._set_allocator_settings 'expandable_segments:True'
  local x = torch.full({32 * MIB}, 2, {device = 'cuda'})
  local found = false
  for _, segment in ipairs(cuda.memory_snapshot()) do found = found or segment.is_expandable end
  cuda.memory._set_allocator_settings 'expandable_segments:False'
  lu.assertTrue(found)
  lu.assertEquals(x:double():sum():item(), 64 * MIB)
end

function TestMemory:test_pinned_batches_of_a_loader_arrive()
  local data = torch.utils.data
  local loader = data.DataLoader(data.TensorDataset(torch.arange(1000)), {batch_size = 100, num_workers = 2, pin_memory = true})
  local sum = torch.zeros({}, {dtype = 'int64', device = 'cuda'})
  for x in loader do
    lu.assertTrue(x:is_pinned())
    sum:add_(x:to('cuda', {non_blocking = true}):sum())
  end
  lu.assertEquals(sum:item(), 499500)
end

os.exit(lu.LuaUnit.run(), true)
