-- torch.cuda.Stream and torch.cuda.Event: on the simulated GPUs each stream has a thread that makes its copies
-- in order.
local lu = require 'luaunit'
local torch = require 'torch'

TestStreams = {}

function TestStreams:test_a_stream_says_what_it_is()
  local stream = torch.cuda.Stream('cuda:1')
  lu.assertEquals(stream.device, 'cuda:1')
  lu.assertEquals(stream.device_index, 1)
  lu.assertEquals(tostring(stream), ('torch.cuda.Stream(cuda:1, %d)'):format(stream.stream_id))
  lu.assertTrue(stream ~= torch.cuda.Stream('cuda:1'))
  lu.assertTrue(torch.cuda.default_stream(1) == torch.cuda.default_stream 'cuda:1')
  lu.assertTrue(torch.cuda.default_stream(1) ~= torch.cuda.default_stream(0))
end

function TestStreams:test_work_goes_to_the_stream_only_inside()
  local stream, outside = torch.cuda.Stream(), torch.cuda.current_stream()
  local inside, given = torch.cuda.stream(stream, function(value) return torch.cuda.current_stream(), value end, 7)
  lu.assertTrue(inside == stream)
  lu.assertEquals(given, 7)
  lu.assertTrue(torch.cuda.current_stream() == outside)
end

function TestStreams:test_an_error_leaves_the_streams_as_they_were()
  local stream, other = torch.cuda.Stream(1), torch.cuda.current_stream(1)
  lu.assertErrorMsgContains('boom', torch.cuda.stream, stream, function() error 'boom' end)
  lu.assertEquals(torch.cuda.current_device(), 0)
  lu.assertTrue(torch.cuda.current_stream(1) == other)
end

function TestStreams:test_a_stream_of_another_device_makes_it_the_current_one_inside()
  local stream = torch.cuda.Stream(1)
  lu.assertEquals(torch.cuda.stream(stream, function() return torch.ones(1):cuda().device end), 'cuda:1')
  lu.assertEquals(torch.cuda.current_device(), 0)
end

function TestStreams:test_set_stream_stays()
  local stream = torch.cuda.Stream()
  torch.cuda.set_stream(stream)
  lu.assertTrue(torch.cuda.current_stream() == stream)
  torch.cuda.set_stream(torch.cuda.default_stream())
end

function TestStreams:test_a_copy_that_does_not_block_is_there_after_the_stream()
  local source, side = torch.arange(2 ^ 20, {dtype = 'float32'}):pin_memory(), torch.cuda.Stream()
  local x = torch.cuda.stream(side, function() return source:to('cuda', {non_blocking = true}) end)
  torch.cuda.current_stream():wait_stream(side)
  x:record_stream(torch.cuda.current_stream())
  lu.assertTrue(torch.equal(x:cpu(), source))
  lu.assertTrue(torch.equal(source:cuda{non_blocking = true}:cpu(), source))
  lu.assertTrue(torch.equal(source:cuda('cuda:1', true):cpu(), source))
end

-- The tensor's memory is reused by its own stream only when the other stream is done with it.
function TestStreams:test_memory_that_another_stream_uses_waits_for_it()
  local side, x = torch.cuda.Stream(), torch.zeros(2 ^ 20):cuda()
  local address = x:data_ptr()
  x:record_stream(side)
  local event = side:record_event()
  x:release()
  event:synchronize()
  lu.assertEquals(torch.cuda.memory_stats()['active.all.current'] > 0, true)
  torch.cuda.synchronize()
  lu.assertEquals(torch.empty(2 ^ 20, {device = 'cuda'}):data_ptr(), address)
end

function TestStreams:test_events_order_streams()
  local one, two, source = torch.cuda.Stream(), torch.cuda.Stream(), torch.full({2 ^ 20}, 3):pin_memory()
  local x = torch.empty(2 ^ 20, {device = 'cuda'})
  torch.cuda.synchronize()
  local event = torch.cuda.stream(one, function()
    x:copy_(source, {non_blocking = true})
    return one:record_event()
  end)
  two:wait_event(event)
  local back = torch.cuda.stream(two, function()
    local out = torch.empty(2 ^ 20, {pin_memory = true})
    out:copy_(x, {non_blocking = true})
    return out
  end)
  two:synchronize()
  lu.assertTrue(two:query() and event:query())
  lu.assertTrue(torch.equal(back, source))
end

function TestStreams:test_events_measure_time()
  local first, last = torch.cuda.Event{enable_timing = true}, torch.cuda.Event{enable_timing = true, blocking = true}
  lu.assertTrue(first:query())
  first:record()
  torch.ones(2 ^ 20):cuda()
  last:record()
  last:synchronize()
  lu.assertTrue(first:elapsed_time(last) >= 0)
end

function TestStreams:test_wrong_events_are_refused()
  local timed, other = torch.cuda.Event{enable_timing = true}, torch.cuda.Event()
  lu.assertErrorMsgContains('both events need {enable_timing = true}', function() timed:elapsed_time(other) end)
  lu.assertErrorMsgContains('both events must have been recorded',
    function() timed:elapsed_time(torch.cuda.Event{enable_timing = true}) end)
  lu.assertErrorMsgContains('expected a torch.cuda.Event, got number', function() timed:elapsed_time(3) end)
  lu.assertErrorMsgContains("'enable_timings': did you mean 'enable_timing'",
    function() torch.cuda.Event{enable_timings = true} end)
  lu.assertErrorMsgContains('enable_timing: expected a boolean, got 1', function() torch.cuda.Event(1) end)
end

function TestStreams:test_wrong_streams_are_refused()
  lu.assertErrorMsgContains("there is no device 'cuda:2'", function() torch.cuda.Stream(2) end)
  lu.assertErrorMsgContains('torch.cuda.stream: expected a torch.cuda.Stream, got number',
    function() torch.cuda.stream(3, print) end)
  lu.assertErrorMsgContains('torch.cuda.stream: expected a function, got nil', function() torch.cuda.stream() end)
  lu.assertErrorMsgContains("record_stream: the tensor is on 'cpu'",
    function() torch.ones(1):record_stream(torch.cuda.current_stream()) end)
end

function TestStreams:test_device_is_for_the_time_of_a_call()
  lu.assertEquals(torch.cuda.device(1, function() return torch.cuda.current_device() end), 1)
  lu.assertErrorMsgContains('boom', torch.cuda.device, 'cuda:1', function() error 'boom' end)
  lu.assertEquals(torch.cuda.current_device(), 0)
end

os.exit(lu.LuaUnit.run(), true)
