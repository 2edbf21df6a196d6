-- Streams and events of a real GPU: work overlaps, waits are kept, times are measured. gpu: at most 60 s
local lu = require 'luaunit'
local torch = require 'torch'

TestStreams = {}

-- Some milliseconds of work.
local function work(x)
  for _ = 1, 20 do x = x:mm(x):mul(1e-3) end
  return x
end

function TestStreams:test_an_event_comes_after_the_work_before_it()
  local x, event = torch.ones(2048, 2048, {device = 'cuda'}), torch.cuda.Event()
  work(x)
  torch.cuda.synchronize()
  work(x)
  event:record()
  event:synchronize()
  lu.assertTrue(event:query() and torch.cuda.current_stream():query())
end

function TestStreams:test_time_between_events_is_that_of_the_work()
  local x = torch.ones(2048, 2048, {device = 'cuda'})
  work(x)
  local first, last = torch.cuda.Event{enable_timing = true}, torch.cuda.Event{enable_timing = true}
  first:record()
  work(x)
  last:record()
  last:synchronize()
  lu.assertTrue(first:elapsed_time(last) > 0.1)
end

function TestStreams:test_a_stream_waits_for_another()
  local side, x = torch.cuda.Stream(), torch.zeros(2 ^ 24, {device = 'cuda'})
  side:wait_stream(torch.cuda.current_stream())
  torch.cuda.stream(side, function()
    work(torch.ones(2048, 2048, {device = 'cuda'}))
    x:fill_(3)
  end)
  torch.cuda.current_stream():wait_stream(side)
  lu.assertEquals((x * 2):double():sum():item(), 6 * 2 ^ 24)
end

function TestStreams:test_a_copy_from_pinned_memory_does_not_wait_for_the_device()
  local source, x = torch.ones(2 ^ 24):pin_memory(), torch.ones(4096, 4096, {device = 'cuda'})
  work(x)
  torch.cuda.synchronize()
  work(x)
  local copy = source:to('cuda', {non_blocking = true})
  local event = torch.cuda.current_stream():record_event()
  local was_done = event:query()
  lu.assertEquals(copy:sum():item(), 2 ^ 24)
  lu.assertFalse(was_done)
end

function TestStreams:test_memory_of_another_stream_is_not_used_too_early()
  local side = torch.cuda.Stream()
  for _ = 1, 50 do
    local x = torch.full({2 ^ 20}, 1, {device = 'cuda'})
    side:wait_stream(torch.cuda.current_stream())
    local sum = torch.cuda.stream(side, function()
      work(torch.ones(512, 512, {device = 'cuda'}))
      return x:sum()
    end)
    x:record_stream(side)
    x:release()
    torch.full({2 ^ 20}, 2, {device = 'cuda'})
    side:synchronize()
    lu.assertEquals(sum:item(), 2 ^ 20)
  end
end

os.exit(lu.LuaUnit.run(), true)
