-- Collectives of plain values, in a group of one rank; tests/e2e/training/test_distributed_objects.py has several.
local lu = require 'luaunit'
local dist = require 'torch.distributed'
local ordered = require 'base.ordered'
local torch = require 'torch'

TestObjects = {}

function TestObjects:setUp() dist.init_process_group('gloo', {rank = 0, world_size = 1}) end

function TestObjects:tearDown() dist.destroy_process_group() end

-- Returns a value as it arrives.
local function sent(value) return dist.all_gather_object({}, value)[1] end

function TestObjects:test_values_arrive_as_they_are()
  for _, value in ipairs{1.5, 'text', '', 'a\0b', true, false, -0.25, 2 ^ 53, 1 / 0} do lu.assertIs(sent(value), value) end
  lu.assertNil(sent(nil))
  lu.assertIs(sent(torch.none), torch.none)
  lu.assertTrue(sent(9007199254740993LL) == 9007199254740993LL)
  lu.assertEquals(sent{1, nil, 3, name = 'n', nested = {deep = {true}}}, {1, nil, 3, name = 'n', nested = {deep = {true}}})
  local kept = sent{t = torch.tensor({{1, 2}}, {dtype = 'int64'})}
  lu.assertEquals({kept.t.dtype, kept.t:tolist()}, {'int64', {{1, 2}}})
  lu.assertEquals(ordered.keys(sent(ordered.new{{'b', 1}, {'a', 2}})), {'b', 'a'})
end

function TestObjects:test_a_value_is_a_copy_that_keeps_shared_tables()
  local part = {1}
  local value = {a = part, b = part}
  local plain = sent(value)
  lu.assertIs(plain.a, plain.b)
  value.itself = value
  local got = sent(value)
  lu.assertNotIs(got.a, part)
  lu.assertIs(got.a, got.b)
  lu.assertIs(got.itself, got)
end

function TestObjects:test_deep_tables()
  local deep = {}
  local inner = deep
  for _ = 1, 1000 do
    inner.next = {}
    inner = inner.next
  end
  inner.value = 7
  local got = sent(deep)
  while got.next do got = got.next end
  lu.assertEquals(got.value, 7)
end

-- A table of options for the function and a value with the same names are told apart by their place.
function TestObjects:test_a_table_with_names_is_a_value()
  lu.assertEquals(sent{group = 'a', obj = 'b'}, {group = 'a', obj = 'b'})
  lu.assertEquals(dist.all_gather_object{object_list = {}, obj = {loss = 1}}, {{loss = 1}})
  lu.assertEquals(dist.gather_object{dst = 5}, {{dst = 5}})
  lu.assertEquals(dist.gather_object({dst = 5}, {dst = 0}), {{dst = 5}})
end

function TestObjects:test_lists_are_filled_and_returned()
  local list = {}
  lu.assertIs(dist.all_gather_object(list, 'a'), list)
  lu.assertEquals(list, {'a'})
  lu.assertIs(dist.gather_object('b', list, 0), list)
  lu.assertEquals(list, {'b'})
  lu.assertIs(dist.broadcast_object_list(list, 0), list)
  lu.assertIs(dist.scatter_object_list(list, {'c'}, {src = 0}), list)
  lu.assertEquals(list, {'c'})
  lu.assertEquals(dist.gather_object('b', {group = dist.group.WORLD, group_dst = 0}), {'b'})
end

function TestObjects:test_what_cannot_be_sent_is_named_with_its_place()
  local function refused(text, value)
    local ok, err = pcall(dist.all_gather_object, {}, value)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'argument')
    lu.assertStrContains(err.message, 'all_gather_object: rank 0: ' .. text)
  end
  refused('obj is a function: only nil, booleans, numbers, strings, tensors and tables of these can be sent', print)
  refused('obj.a.b[2] is a function', {a = {b = {1, function() end}}})
  refused('obj["two words"] is a coroutine', {['two words'] = coroutine.create(print)})
  refused('obj[1] is an open file', {io.stdout})
  refused('obj is a userdata', newproxy())
  refused('obj.n is FFI data', {n = require('ffi').new 'int[2]'})
  refused('obj (a key) is a function', {[print] = 1})
  refused('obj.m.b is a function', {m = ordered.new{{'b', print}}})
end

function TestObjects:test_wrong_lists()
  local function refused(text, fn, ...) lu.assertErrorMsgContains(text, fn, ...) end
  refused('all_gather_object: object_list: expected a list, got number', dist.all_gather_object, 1, 2)
  refused('all_gather_object: object_list: expected a list, got an object', dist.all_gather_object, torch.Size{1}, 2)
  refused("missing argument 'object_list'", dist.all_gather_object)
  refused('object_list.name: expected a list without names', dist.broadcast_object_list, {1, name = 2}, 0)
  refused('object_list[1] is a function', dist.broadcast_object_list, {print})
  refused('expected a list, got string', dist.broadcast_object_list, 'a')
  refused('expected a list with a value for each rank, got nil', dist.scatter_object_list, {})
  refused('2 values for 1 ranks: give one for each rank', dist.scatter_object_list, {}, {1, 2})
  refused('item 1 of the list is nil (torch.none may stand for a nil)', dist.scatter_object_list, {}, {nil, 2})
  refused('scatter_object_input_list[1].f is a function', dist.scatter_object_list, {}, {{f = print}})
  refused('there is no rank 3', dist.gather_object, 1, {dst = 3})
  refused('give src or group_src', dist.broadcast_object_list, {}, {src = 0, group_src = 0})
  refused('is this rank itself', dist.send_object_list, {}, 0)
  refused("missing argument 'dst'", dist.send_object_list, {})
end

function TestObjects:test_a_rank_outside_of_the_group_is_only_warned()
  local outside, list = dist.GroupMember.NON_GROUP_MEMBER, {}
  lu.assertNil(dist.all_gather_object(list, 1, outside))
  lu.assertNil(dist.gather_object(1, {group = outside}))
  lu.assertNil(dist.broadcast_object_list(list, {group = outside}))
  lu.assertNil(dist.scatter_object_list(list, {group = outside}))
  lu.assertEquals(list, {})
  lu.assertNil(dist.monitored_barrier(outside))
end

TestMonitoredBarrier = {setUp = TestObjects.setUp, tearDown = TestObjects.tearDown}

function TestMonitoredBarrier:test_one_rank_waits_for_nobody()
  lu.assertNil(dist.monitored_barrier())
  dist.monitored_barrier(nil, 5, true)
  dist.monitored_barrier{group = dist.new_group{0}, timeout_s = 5, wait_all_ranks = true}
  lu.assertErrorMsgContains("'timeout_s' must be above 0 seconds", dist.monitored_barrier, {timeout_s = 0})
  lu.assertErrorMsgContains("did you mean 'timeout_s'?", dist.monitored_barrier, {timeout = 5})
  dist.destroy_process_group()
  lu.assertErrorMsgContains('there is no process group', dist.monitored_barrier)
  dist.init_process_group('gloo', {rank = 0, world_size = 1})
end

function TestMonitoredBarrier:test_names_that_are_not_here_say_what_to_use()
  lu.assertErrorMsgContains('use all_gather_into_tensor', function() return dist._all_gather_base end)
  lu.assertErrorMsgContains('its functions are those of torch.distributed.nn', function() return dist.nn.functional end)
end

os.exit(lu.LuaUnit.run(), true)
