-- Memory statistics of torch.cuda, the limits and settings of its allocator, and pinned memory.
local lu = require 'luaunit'
local torch = require 'torch'

local cuda = torch.cuda
local MIB = 2 ^ 20

TestMemory = {}

function TestMemory:setUp()
  cuda.empty_cache()
  cuda.reset_peak_memory_stats()
  cuda.reset_accumulated_memory_stats()
end

function TestMemory:test_what_tensors_hold()
  local before = cuda.memory_allocated()
  local x = torch.empty(4 * MIB, {dtype = 'uint8', device = 'cuda'})
  lu.assertEquals(cuda.memory_allocated() - before, 4 * MIB)
  lu.assertTrue(cuda.memory_reserved() >= cuda.memory_allocated())
  x:release()
  lu.assertEquals(cuda.memory_allocated(), before)
  lu.assertEquals(cuda.max_memory_allocated() - before, 4 * MIB)
  cuda.reset_peak_memory_stats()
  lu.assertEquals(cuda.max_memory_allocated(), before)
  lu.assertTrue(cuda.max_memory_reserved() >= 4 * MIB)
  cuda.empty_cache()
  lu.assertEquals(cuda.memory_reserved(), 0)
  lu.assertEquals(cuda.memory_allocated(1), 0)
end

function TestMemory:test_a_scope_frees_what_was_made_inside()
  local before = cuda.memory_allocated()
  local kept = torch.scope(function()
    torch.empty(4 * MIB, {device = 'cuda'})
    return torch.empty(MIB, {dtype = 'uint8', device = 'cuda'})
  end)
  lu.assertEquals(cuda.memory_allocated() - before, kept.nbytes)
end

function TestMemory:test_the_figures_have_their_names_in_pytorch()
  local stats = cuda.memory_stats()
  for _, name in ipairs{'allocation', 'segment', 'active', 'inactive_split', 'allocated_bytes', 'reserved_bytes',
                        'active_bytes', 'inactive_split_bytes', 'requested_bytes'} do
    for _, pool in ipairs{'all', 'large_pool', 'small_pool'} do
      for _, figure in ipairs{'current', 'peak', 'allocated', 'freed'} do
        lu.assertNumber(stats[('%s.%s.%s'):format(name, pool, figure)])
      end
    end
  end
  for _, name in ipairs{'num_alloc_retries', 'num_ooms', 'num_sync_all_streams', 'num_device_alloc', 'num_device_free',
                        'max_split_size', 'oversize_allocations.current', 'oversize_segments.freed'} do
    lu.assertNumber(stats[name])
  end
end

function TestMemory:test_counts_begin_again()
  torch.empty(MIB, {device = 'cuda'}):release()
  lu.assertTrue(cuda.memory_stats()['allocated_bytes.all.freed'] >= MIB)
  cuda.reset_accumulated_memory_stats()
  lu.assertEquals(cuda.memory_stats()['allocated_bytes.all.freed'], 0)
end

function TestMemory:test_the_summary_shows_the_figures()
  local x = torch.empty(3 * MIB, {dtype = 'uint8', device = 'cuda'})
  local text = cuda.memory_summary()
  lu.assertStrContains(text, 'Memory of cuda:0')
  lu.assertStrMatches(text, '.*| held by tensors        |     3.0 MiB |     3.0 MiB |.*')
  lu.assertStrContains(text, 'large blocks')
  lu.assertNotStrContains(cuda.memory_summary(0, {abbreviated = true}), 'large blocks')
  lu.assertNotNil(x)
end

function TestMemory:test_a_snapshot_has_every_block()
  local x = torch.empty(3 * MIB, {dtype = 'uint8', device = 'cuda:1'})
  local found
  for _, segment in ipairs(cuda.memory_snapshot()) do
    for _, block in ipairs(segment.blocks) do
      if block.address == x:data_ptr() then found = {segment, block} end
    end
  end
  lu.assertEquals(found[1].device, 1)
  lu.assertEquals(found[1].segment_type, 'large')
  lu.assertEquals(found[2].state, 'active_allocated')
  lu.assertEquals(found[2].requested_size, 3 * MIB)
end

function TestMemory:test_a_part_of_the_device_is_the_limit()
  cuda.set_per_process_memory_fraction(0.001)
  lu.assertAlmostEquals(cuda.get_per_process_memory_fraction(), 0.001, 1e-9)
  local ok, err = pcall(torch.empty, 512 * MIB, {dtype = 'uint8', device = 'cuda'})
  cuda.set_per_process_memory_fraction(1)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'out_of_memory')
  lu.assertErrorMsgContains('expected a number from 0 to 1, got 2', cuda.set_per_process_memory_fraction, 2)
end

function TestMemory:test_the_settings_of_the_allocator()
  lu.assertEquals(cuda.get_allocator_backend(), 'native')
  cuda.memory._set_allocator_settings 'max_split_size_mb:64'
  lu.assertEquals(require('torch._C').cuda_allocator.settings(), 'max_split_size_mb:64')
  lu.assertErrorMsgContains("Unrecognized key 'splitting'", cuda.memory._set_allocator_settings, 'splitting:1')
end

function TestMemory:test_pinned_memory()
  local x = torch.arange(8)
  lu.assertFalse(x:is_pinned())
  lu.assertTrue(x:pin_memory():is_pinned())
  lu.assertTrue(torch.equal(x:pin_memory(), x))
  lu.assertTrue(torch.zeros(2, {pin_memory = true}):is_pinned())
end

function TestMemory:test_a_loader_pins_its_batches()
  local data = torch.utils.data
  local set = data.TensorDataset(torch.arange(8), torch.arange(8) * 2)
  for _, workers in ipairs{0, 2} do
    local count = 0
    for x, y in data.DataLoader(set, {batch_size = 4, pin_memory = true, num_workers = workers}) do
      lu.assertTrue(x:is_pinned() and y:is_pinned())
      lu.assertTrue(torch.equal(x * 2, y))
      count = count + 1
    end
    lu.assertEquals(count, 2)
  end
  lu.assertFalse(data.DataLoader(set):iter()():is_pinned())
end

function TestMemory:test_tables_and_objects_are_pinned_too()
  local data = torch.utils.data
  local function collate(samples)
    return {x = torch.tensor(samples), names = {'a'}, nested = {torch.zeros(2)}}
  end
  local Numbers = data.Dataset:extend 'Numbers'
  function Numbers.len() return 2 end
  function Numbers.get(_, index) return index end
  local batch = data.DataLoader(Numbers(), {batch_size = 2, pin_memory = true, collate_fn = collate}):iter()()
  lu.assertTrue(batch.x:is_pinned() and batch.nested[1]:is_pinned())
  lu.assertEquals(batch.names, {'a'})
end

os.exit(lu.LuaUnit.run(), true)
