local lu = require 'luaunit'
local torch = require 'torch'

local futures = torch.futures
local Future = futures.Future

TestFuture = {}

function TestFuture:test_callbacks_come_in_their_order_with_the_completed_future()
  local future, order = Future(), {}
  future:add_done_callback(function(fut) order[#order + 1] = 'a' .. fut:value() end)
  local child = future:then_(function(fut)
    order[#order + 1] = 'b' .. fut:value()
    return fut:value() + 1
  end)
  lu.assertFalse(child:done())
  future:set_result(1)
  lu.assertTrue(child:done())
  future:add_done_callback(function() order[#order + 1] = 'c' end)
  lu.assertEquals({child:value(), child:wait(), order}, {2, 2, {'a1', 'b1', 'c'}})
end

function TestFuture:test_errors_go_down_the_chain_to_who_waits()
  local future = Future()
  local child = future:then_(function() error('in the callback') end)
  local last = child:then_(function(fut) return fut:value() end)
  local caught = child:then_(function(fut) return (select(2, pcall(fut.value, fut))).message end)
  future:set_result(true)
  lu.assertErrorMsgContains('in the callback', last.wait, last)
  lu.assertErrorMsgContains('in the callback', child.value, child)
  lu.assertStrContains(caught:wait(), 'in the callback')
  local failed = Future()
  failed:set_exception('from outside')
  lu.assertErrorMsgContains('from outside', failed.wait, failed)
end

function TestFuture:test_misuse_is_told()
  local future = Future()
  lu.assertErrorMsgContains('nothing completes this Future', future.wait, future)
  lu.assertErrorMsgContains('it has not completed yet', future.value, future)
  lu.assertErrorMsgContains('then_: expected a function, got 3', future.then_, future, 3)
  local itself
  itself = future:then_(function() return itself:wait() end)
  future:set_result(1)
  lu.assertErrorMsgContains('nothing completes this Future', itself.wait, itself)
  lu.assertErrorMsgContains('completed before', future.set_result, future, 2)
  lu.assertErrorMsgContains('completed before', future.set_exception, future, 2)
  lu.assertErrorMsgContains('entry 2 is 3, expected a Future', futures.collect_all, {future, 3})
end

function TestFuture:test_several_are_waited_for_at_once()
  local a, b = Future(), Future()
  local all = futures.collect_all{a, b}
  a:set_result(1)
  lu.assertFalse(all:done())
  lu.assertErrorMsgContains('nothing completes this Future', all.wait, futures.collect_all{a, b})
  b:set_exception('b failed')
  lu.assertTrue(all:done())
  lu.assertIs(all:wait()[2], b)
  lu.assertErrorMsgContains('b failed', futures.wait_all, {a, b})
  lu.assertEquals(futures.wait_all{a, a}, {1, 1})
  lu.assertEquals(futures.wait_all{}, {})
end

function TestFuture:test_of_a_collective()
  local dist = torch.distributed
  dist.init_process_group('gloo', {rank = 0, world_size = 1})
  local x = torch.tensor{1, 2}
  local future = dist.all_reduce(x, {async_op = true}):get_future()
  local doubled = future:then_(function(fut) return fut:value()[1] * 2 end)
  lu.assertEquals(doubled:wait():tolist(), {2, 4})
  lu.assertTrue(future:done())
  lu.assertEquals(dist.all_gather(x, {async_op = true}):get_future():wait()[1]:tolist(), {1, 2})
  dist.destroy_process_group()
end

os.exit(lu.LuaUnit.run(), true)
