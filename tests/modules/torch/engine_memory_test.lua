-- Memory: garbage tensors are collected, scopes release tensors, and out of memory is an error that can be caught.
local lu = require 'luaunit'
local C = require 'torch._C'
local rand, ones, empty = C.op 'rand', C.op 'ones', C.op 'empty'

local function resident_mb()
  for line in io.lines('/proc/self/status') do
    local kb = line:match('VmRSS:%s+(%d+)')
    if kb then return tonumber(kb) / 1024 end
  end
end

TestMemory = {}

function TestMemory:test_garbage_of_2_gb_takes_less_than_300_mb()
  local before = resident_mb()
  for _ = 1, 500 do local _ = rand(1e6) end
  local grown = resident_mb() - before
  lu.assertTrue(grown < 300, ('resident: %d MB more'):format(grown))
end

function TestMemory:test_garbage_beside_a_large_live_heap()
  do
    local live = {}
    for i = 1, 100 do live[i] = empty(1e6) end
    local before = C.memory_stats().live_bytes
    for _ = 1, 500 do local _ = empty(1e6) end
    lu.assertTrue(C.memory_stats().live_bytes < before + 4e8)
    lu.assertEquals(live[100]:size(0), 1e6)
  end
  collectgarbage()
  collectgarbage()
  lu.assertTrue(C.memory_stats().live_bytes < 1e8)
end

function TestMemory:test_out_of_memory_is_an_error_with_a_code()
  local ok, err = pcall(function() return empty(1e15) end)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'out_of_memory')
  lu.assertEquals(ones(2):sum():item(), 2)
end

-- The kernel would grant these allocations and kill the process when it first uses them.
function TestMemory:test_what_the_machine_does_not_have_is_refused_at_once()
  local torch = require 'torch'
  for name, make in pairs{empty = torch.empty, zeros = torch.zeros, rand = torch.rand} do
    local ok, err = pcall(make, 1000000, 1000000)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'out_of_memory')
    for _, part in ipairs{name, '{1000000, 1000000}', 'Tried to allocate 3.64 TiB; ', 'GiB are free'} do
      lu.assertStrContains(err.message, part)
    end
  end
end

function TestMemory:test_memory_that_is_not_touched_yet_counts_as_taken()
  do
    local held = {}
    local ok, err = pcall(function()
      for i = 1, 4096 do held[i] = empty(2 ^ 30) end -- 4 GiB each
    end)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'out_of_memory')
    lu.assertTrue(#held < 4096)
  end
  collectgarbage()
  collectgarbage()
  lu.assertEquals(ones(2):sum():item(), 2)
end

function TestMemory:test_peak_can_be_reset()
  do local _ = empty(3e7) end
  collectgarbage()
  collectgarbage()
  lu.assertTrue(C.memory_stats().peak_bytes >= 1.2e8)
  C.reset_peak_memory_stats()
  lu.assertTrue(C.memory_stats().peak_bytes < 1e8)
end

function TestMemory:test_the_first_step_ends_with_a_collection()
  for _ = 1, 3 do local _ = rand(1e6):exp():sum() end
  local before = C.memory_stats().full_collections
  C.step_boundary()
  lu.assertEquals(C.memory_stats().full_collections, before + 1)
  local live = C.memory_stats().live_bytes
  lu.assertTrue(live < 1e7, live .. ' bytes are live')
end

function TestMemory:test_summary()
  local x = ones(1024, 1024)
  local text = require('torch').memory_summary()
  local now = tonumber(text:match '| cpu tensors%s+|%s+([%d.]+) MiB')
  lu.assertTrue(now >= 4 and now < 100, text)
  for _, row in ipairs{'Lua heap', 'process', 'full collections', 'next one above'} do
    lu.assertStrContains(text, '| ' .. row)
  end
  lu.assertEquals(x:numel(), 2 ^ 20)
end

TestScope = {}

function TestScope:test_a_scope_releases_all_but_its_results()
  local inside
  local kept, list, number = C.scope(function()
    inside = ones(3)
    return inside + 1, {a = {inside * 5}}, 7
  end)
  lu.assertErrorMsgContains('released', function() return inside.shape end)
  lu.assertEquals(kept:tolist(), {2, 2, 2})
  lu.assertEquals(list.a[1]:tolist(), {5, 5, 5})
  lu.assertEquals(number, 7)
end

function TestScope:test_keep_and_nested_scopes()
  local from_inner, from_outer
  C.scope(function(keep)
    from_inner = C.scope(function() return ones(2) end)
    lu.assertEquals(from_inner:tolist(), {1, 1})
    from_outer = keep(ones(1))
  end)
  lu.assertErrorMsgContains('released', function() return from_inner.shape end)
  lu.assertEquals(from_outer:item(), 1)
end

function TestScope:test_an_error_ends_the_scope()
  lu.assertFalse(pcall(C.scope, function() error('x') end))
  local x = ones(1)
  C.scope(function() end)
  lu.assertEquals(x:item(), 1)
end

os.exit(lu.LuaUnit.run(), true)
