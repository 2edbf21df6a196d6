local C = require 'torch._C'
local lu = require 'luaunit'
local dist = require 'torch.distributed'
local torch = require 'torch'

TestDistributed = {}

function TestDistributed:setUp() dist.init_process_group('gloo', {rank = 0, world_size = 1}) end

function TestDistributed:tearDown() dist.destroy_process_group() end

function TestDistributed:test_rank_and_world_size()
  lu.assertTrue(dist.is_initialized())
  lu.assertEquals(dist.get_rank(), 0)
  lu.assertEquals(dist.get_world_size(), 1)
  lu.assertEquals(dist.get_backend(), 'gloo')
end

function TestDistributed:test_collectives_of_one_rank_change_nothing()
  local x = torch.tensor{1, 2, 3}
  for _, op in ipairs{'SUM', 'AVG', 'MIN', 'MAX', 'PRODUCT'} do
    lu.assertIs(dist.all_reduce(x, dist.ReduceOp[op]), x)
  end
  dist.all_reduce(x, {op = 'max'})
  dist.broadcast(x, {src = 0})
  lu.assertEquals(x:tolist(), {1, 2, 3})
  lu.assertEquals(dist.all_gather(x)[1]:tolist(), {1, 2, 3})
  local list = {torch.zeros(3)}
  dist.all_gather(list, x)
  lu.assertEquals(list[1]:tolist(), {1, 2, 3})
  local out = torch.zeros(3)
  dist.reduce_scatter(out, {x})
  lu.assertEquals(out:tolist(), {1, 2, 3})
  dist.barrier()
end

function TestDistributed:test_collectives_to_and_from_one_rank()
  local x = torch.tensor{1, 2, 3}
  lu.assertIs(dist.reduce(x), x)
  dist.reduce(x, {dst = 0, op = 'max'})
  lu.assertEquals(x:tolist(), {1, 2, 3})
  lu.assertEquals(dist.gather(x)[1]:tolist(), {1, 2, 3})
  local list = {torch.zeros(3)}
  lu.assertIs(dist.gather(x, list, {dst = 0}), list)
  lu.assertEquals(list[1]:tolist(), {1, 2, 3})
  lu.assertEquals(dist.scatter(torch.zeros(3), {x}, {src = 0}):tolist(), {1, 2, 3})
  lu.assertEquals(dist.all_gather_into_tensor(torch.zeros(3), x):tolist(), {1, 2, 3})
  lu.assertEquals(dist.reduce_scatter_tensor(torch.zeros(3), x, {op = 'avg'}):tolist(), {1, 2, 3})
  lu.assertEquals(dist.all_to_all({torch.zeros(3)}, {x})[1]:tolist(), {1, 2, 3})
  lu.assertEquals(dist.all_to_all_single(torch.zeros(3), x, {3}, {3}):tolist(), {1, 2, 3})
  lu.assertErrorMsgContains('there is no rank 1', dist.reduce, x, 1)
  lu.assertErrorMsgContains('give one for each rank', dist.all_to_all, {}, {})
  lu.assertErrorMsgContains('give one for each rank', dist.scatter, x)
end

function TestDistributed:test_collectives_with_gradients()
  local nn, empty = dist.nn, torch.empty(2, 3)
  for i, collective in ipairs{
    function(x) return nn.all_reduce(x) end, function(x) return nn.all_gather(x)[1] end,
    function(x) return nn.broadcast(x, 0) end,
    function(x) return nn.reduce(x, 0) end, function(x) return nn.gather(x, 0)[1] end,
    function(x) return nn.scatter({x}, 0) end,
    function(x) return nn.reduce_scatter(empty, {x}) end, function(x) return nn.all_to_all({torch.empty(2, 3)}, {x})[1] end,
    function(x) return nn.all_to_all_single(empty, x) end} do
    local x = torch.ones({2, 3}, {requires_grad = true})
    local y = collective(x * 2):sum()
    y:backward()
    lu.assertEquals({y:item(), x.grad:sum():item()}, {12, 12}, i)
  end
  lu.assertErrorMsgContains('ZeroRedundancyOptimizer divides', function() return dist.fsdp end)
  lu.assertErrorMsgContains('train.report', function() return dist.checkpoint end)
end

function TestDistributed:test_works()
  local x = torch.tensor{1, 2, 3}
  local work = dist.all_reduce(x, {async_op = true})
  lu.assertTrue(work:wait())
  lu.assertTrue(work:is_completed() and work:is_success())
  lu.assertEquals(work:result()[1]:tolist(), {1, 2, 3})
  for _, gathering in ipairs{dist.gather(x, {async_op = true}), dist.all_gather({}, x, nil, true)} do
    gathering:wait()
    lu.assertEquals(gathering:result()[1]:tolist(), {1, 2, 3})
  end
  lu.assertErrorMsgContains('dist.isend or dist.irecv', dist.P2POp, dist.send, x, 0)
  lu.assertEquals(dist.batch_isend_irecv{}, {})
end

function TestDistributed:test_groups_of_one_rank()
  local group = dist.new_group{0}
  lu.assertEquals(dist.get_world_size(group), 1)
  lu.assertEquals(dist.get_process_group_ranks(group), {0})
  lu.assertEquals(dist.all_reduce(torch.tensor{2}, 'sum', group):item(), 2)
  lu.assertEquals(dist.broadcast(torch.tensor{2}, {group = dist.group.WORLD, group_src = 0}):item(), 2)
  lu.assertEquals(dist.get_rank(dist.GroupMember.WORLD), 0)
  lu.assertEquals(#select(2, dist.new_subgroups(1)), 1)
  local outside = dist.GroupMember.NON_GROUP_MEMBER
  lu.assertEquals(dist.get_rank(outside), -1)
  lu.assertEquals(tostring(outside), 'GroupMember.NON_GROUP_MEMBER')
  dist.destroy_process_group(group)
  lu.assertErrorMsgContains('was destroyed', dist.barrier, group)
  lu.assertTrue(dist.is_initialized())
end

function TestDistributed:test_wrong_groups_and_ranks()
  lu.assertErrorMsgContains('there is no rank 1', dist.new_group, {1})
  lu.assertErrorMsgContains('is given twice', dist.new_group, {0, 0})
  lu.assertErrorMsgContains('expected a list of ranks', dist.new_group, {ranks = {'a'}})
  lu.assertErrorMsgContains("did you mean 'ranks'?", dist.new_group, {rank = {0}})
  lu.assertErrorMsgContains('does not divide 1 ranks', dist.new_subgroups, 2)
  lu.assertErrorMsgContains('is in two groups', dist.new_subgroups_by_enumeration, {{0}, {0}})
  lu.assertErrorMsgContains('give src or group_src', dist.broadcast, torch.ones(1), {src = 0, group_src = 0})
  lu.assertErrorMsgContains("missing argument 'dst'", dist.send, torch.ones(1))
  lu.assertErrorMsgContains('is this rank itself', dist.send, torch.ones(1), 0)
  lu.assertErrorMsgContains('no rank 4', dist.recv, torch.ones(1), 4)
  lu.assertErrorMsgContains('has no \'WORD\'', function() return dist.group.WORD end)
end

function TestDistributed:test_a_second_group_is_refused()
  lu.assertErrorMsgContains('has a process group already', dist.init_process_group)
end

function TestDistributed:test_unknown_operations_and_options_have_a_hint()
  lu.assertErrorMsgContains("did you mean 'sum'?", dist.all_reduce, torch.ones(1), 'sums')
  lu.assertErrorMsgContains("did you mean 'op'?", dist.all_reduce, torch.ones(1), {opp = 'sum'})
  lu.assertErrorMsgContains("did you mean 'barrier'?", function() return dist.barier end)
  lu.assertErrorMsgContains('no rank 3', dist.broadcast, torch.ones(1), 3)
end

function TestDistributed:test_several_ranks_need_a_trainer()
  dist.destroy_process_group()
  lu.assertFalse(dist.is_initialized())
  lu.assertErrorMsgContains('made by a trainer', dist.init_process_group, {rank = 0, world_size = 2})
  lu.assertErrorMsgContains('no process group', dist.get_rank)
end

TestReducer = {}

function TestReducer:setUp() dist.init_process_group() end

function TestReducer:tearDown() dist.destroy_process_group() end

local function step(reducer, w, x, sync)
  reducer:before_forward(sync)
  local y = reducer:after_forward(x:matmul(w), sync)
  y:sum():backward()
end

function TestReducer:test_gradients_of_one_rank_are_its_own()
  local w = torch.ones(2, 1):requires_grad_()
  local reducer = C.distributed.Reducer({w}, {names = {'w'}})
  local x = torch.tensor{{1, 2}}
  step(reducer, w, x, true)
  lu.assertEquals(w.grad:tolist(), {{1}, {2}})
  step(reducer, w, x, false)
  lu.assertEquals(w.grad:tolist(), {{2}, {4}})
  w.grad:zero_()
  step(reducer, w, x, true)
  lu.assertEquals(w.grad:tolist(), {{1}, {2}})
end

function TestReducer:test_outputs_may_be_nested_when_unused_parameters_are_searched()
  local w, unused = torch.ones(2, 1):requires_grad_(), torch.ones(3):requires_grad_()
  local reducer = C.distributed.Reducer({w, unused}, {find_unused_parameters = true})
  for _ = 1, 2 do
    reducer:before_forward(true)
    local output = reducer:after_forward({logits = torch.ones(1, 2):matmul(w), step = 3}, true)
    lu.assertEquals(output.step, 3)
    output.logits:sum():backward()
  end
  lu.assertEquals(w.grad:tolist(), {{2}, {2}})
end

function TestReducer:test_use_after_the_group_is_an_error()
  local w = torch.ones(1):requires_grad_()
  local reducer = C.distributed.Reducer({w})
  dist.destroy_process_group()
  lu.assertErrorMsgContains('process group was destroyed', reducer.before_forward, reducer, true)
end

function TestReducer:test_misuse_is_named()
  local w = torch.ones(1):requires_grad_()
  lu.assertErrorMsgContains('no parameter', C.distributed.Reducer, {})
  lu.assertErrorMsgContains('given twice', C.distributed.Reducer, {w, w})
  lu.assertErrorMsgContains("did you mean 'static_graph'?", C.distributed.Reducer, {w}, {static_grap = true})
  local reducer = C.distributed.Reducer({w})
  lu.assertErrorMsgContains('unknown communication hook', reducer.register_comm_hook, reducer, 'powersgd')
end

TestDDP = {setUp = TestDistributed.setUp, tearDown = TestDistributed.tearDown}

function TestDDP:test_it_is_pytorchs_class_with_its_arguments()
  local DistributedDataParallel = torch.nn.parallel.DistributedDataParallel
  local model = torch.nn.Linear(1, 1)
  local wrapped = DistributedDataParallel(model, {find_unused_parameters = true, init_sync = true, dim = 0})
  lu.assertTrue(wrapped.module == model and require('rtrain').torch.unwrap(wrapped) == model)
  local function refused(text, ...) lu.assertErrorMsgContains(text, DistributedDataParallel, ...) end
  refused('expected a model, got 3', 3)
  refused('device_ids = a table: the model is on cpu', model, {device_ids = {0}})
  refused('expected a list of one device', model, {device_ids = {0, 1}})
  refused('output_device = 1: the model is on cpu', model, {output_device = 1})
  refused('dim = 1: batches are along dim 0', model, {dim = 1})
  refused('init_sync = false: all ranks begin with the values of rank 0', model, {init_sync = false})
  refused("did you mean 'static_graph'?", model, {static_grap = true})
  refused('DataParallel', function() return torch.nn.parallel.DataParallel end)
end

function TestDDP:test_what_is_not_there_says_so()
  local model = require 'torch.nn.parallel.distributed' (torch.nn.Linear(1, 1))
  local function refused(text, name, ...)
    local ok, err = pcall(model[name], model, ...)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'unsupported')
    lu.assertStrContains(tostring(err), text)
  end
  for _, name in ipairs{'join', 'join_hook', 'join_device', 'join_process_group'} do
    refused(('DistributedDataParallel.%s is not in this version: every rank makes the same number of steps'):format(name), name)
  end
  for _, name in ipairs{'scatter', 'gather', 'to_kwargs'} do refused('a rank computes on one device', name) end
  local names = "it takes a name: 'allreduce', 'fp16_compress' or 'bf16_compress'"
  refused(names, 'register_comm_hook')
  refused(names, 'register_comm_hook', nil, function() end)
  refused(names, 'register_comm_hook', 'state', function() end)
  lu.assertErrorMsgContains("unknown communication hook 'powersgd'", model.register_comm_hook, model, 'powersgd')
  model:register_comm_hook 'fp16_compress'
end

os.exit(lu.LuaUnit.run(), true)
