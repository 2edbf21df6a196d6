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
  lu.assertErrorMsgContains('fully_shard(module) shards', function() return dist.fsdp.FullyShardedDataParallel end)
  lu.assertErrorMsgContains('torch.distributed.fsdp divides', function() return dist.tensor.DTensor end)
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

function TestDistributed:test_bitwise_operations_are_refused_over_nccl()
  local functions = C.distributed
  local get_backend = functions.get_backend
  functions.get_backend = function() return 'nccl' end
  local ok, err = pcall(dist.all_reduce, {is_cuda = true}, 'bxor')
  functions.get_backend = get_backend
  lu.assertFalse(ok)
  lu.assertStrContains(err.message, "all_reduce: NCCL has no operation 'bxor': use a tensor of the CPU")
  lu.assertEquals(dist.all_reduce(torch.tensor({6}, {dtype = 'int64'}), 'band'):item(), 6)
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
end

TestCommHook = {setUp = TestDistributed.setUp, tearDown = TestDistributed.tearDown}

local DDP = require 'torch.nn.parallel.distributed'
local hooks = dist.algorithms.ddp_comm_hooks

function TestCommHook:test_what_is_no_hook_is_told()
  local model = DDP(torch.nn.Linear(1, 1))
  local function refused(text, ...) lu.assertErrorMsgContains(text, model.register_comm_hook, model, ...) end
  local names = "or one of the names 'allreduce', 'fp16_compress' or 'bf16_compress'"
  refused('expected a function as the hook, got nil, ' .. names)
  refused(names .. '; the state comes first: register_comm_hook(nil, hook)', function() end)
  refused("expected a function as the hook, got 3", 'state', 3)
  refused("unknown communication hook 'powersgd'", 'powersgd')
  model:register_comm_hook 'fp16_compress'
  refused('this model has a hook: it is registered once', nil, function() end)
  lu.assertErrorMsgContains('expected a DistributedDataParallel model', hooks.register_ddp_comm_hook, 'NOOP', model.module)
  lu.assertErrorMsgContains("did you mean 'NOOP'?", hooks.register_ddp_comm_hook, 'NOP', model)
  lu.assertErrorMsgContains('use FP16_COMPRESS', function() return hooks.DDPCommHookType.QUANTIZE_PER_TENSOR end)
end

-- Returns the buckets of each step, and the gradients of the last step.
local function steps_of(options, count, hook)
  local net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 1))
  local model, seen = DDP(net, options), {}
  model:register_comm_hook(seen, function(state, bucket)
    local here = state[#state]
    here[#here + 1] = bucket:index()
    if bucket:is_last() then here.last = bucket:index() end
    local num = 0
    for i, gradient in ipairs(bucket:gradients()) do
      lu.assertEquals(gradient.shape, bucket:parameters()[i].shape)
      num = num + gradient:numel()
    end
    lu.assertEquals(num, bucket:buffer():numel())
    return hook(bucket)
  end)
  for i = 1, count do
    seen[i] = {}
    for _, p in ipairs(net:parameters()) do
      if p.grad then p.grad:zero_() end
    end
    model(torch.ones(2, 8)):sum():backward()
  end
  return seen, net
end

function TestCommHook:test_every_bucket_comes_once_in_every_step()
  for _, options in ipairs{{}, {static_graph = true}, {find_unused_parameters = true}, {gradient_as_bucket_view = false}} do
    options.bucket_cap_mb = 0.0003
    local seen, net = steps_of(options, 3, function(bucket)
      local future = torch.futures.Future()
      future:set_result(bucket:buffer() * 2)
      return future
    end)
    for _, each in ipairs(seen) do
      lu.assertEquals(each.last, #each - 1)
      for i, index in ipairs(each) do lu.assertEquals(index, i - 1) end
    end
    lu.assertEquals(net[3].bias.grad:tolist(), {4})
  end
end

function TestCommHook:test_futures_are_waited_for_in_the_order_of_the_buckets()
  local order = {}
  steps_of({bucket_cap_mb = 0.0003}, 2, function(bucket)
    local index = bucket:index()
    order[#order + 1] = 'begin ' .. index
    return dist.all_reduce(bucket:buffer(), {async_op = true}):get_future():then_(function(fut)
      order[#order + 1] = 'end ' .. index
      return fut:value()[1]
    end)
  end)
  lu.assertEquals({unpack(order, #order - 3)}, {'begin 0', 'begin 1', 'end 0', 'end 1'})
end

function TestCommHook:test_a_model_goes_on_after_a_hook_has_failed_where_nothing_was_left()
  local net = torch.nn.Linear(1, 1, {bias = false})
  local model, fails = DDP(net), true
  model:register_comm_hook(nil, function(_, bucket)
    if fails then error('not now') end
    return bucket:buffer()
  end)
  lu.assertErrorMsgContains('not now', function() model(torch.ones(1, 1)):sum():backward() end)
  fails = false
  local other = torch.ones({1}, {requires_grad = true})
  other:sum():backward()  -- a backward pass is possible again
  lu.assertEquals(other.grad:tolist(), {1})
end

function TestCommHook:test_a_bucket_that_is_kept_is_safe()
  local kept
  steps_of({}, 3, function(bucket)
    kept = kept or bucket
    return bucket:buffer()
  end)
  dist.destroy_process_group()
  lu.assertEquals(#kept:gradients(), 6)
  lu.assertEquals(kept:parameters()[1].shape, kept:gradients()[1].shape)
  dist.init_process_group('gloo', {rank = 0, world_size = 1})
end

function TestCommHook:test_gradients_are_exchanged_also_when_the_first_backward_only_accumulates()
  for _, options in ipairs{{static_graph = true}, {}, {find_unused_parameters = true}} do
    local net, calls = torch.nn.Linear(2, 1, {bias = false}), 0
    local model = DDP(net, options)
    model:register_comm_hook(nil, function(_, bucket)
      calls = calls + 1
      return bucket:buffer()
    end)
    for i = 1, 4 do
      net:zero_grad{set_to_none = false}
      for _ = 1, 2 do model:no_sync(function() model(torch.ones(1, 2)):sum():backward() end) end
      model(torch.ones(1, 2)):sum():backward()
      lu.assertEquals({calls, net.weight.grad:tolist()}, {i, {{3, 3}}})
    end
  end
end

function TestCommHook:test_a_model_that_is_connected_again_has_its_hook()
  local net, calls = torch.nn.Linear(1, 1), 0
  local model = DDP(net)
  model:register_comm_hook(nil, function(_, bucket)
    calls = calls + 1
    return bucket:buffer()
  end)
  model(torch.ones(1, 1)):sum():backward()
  DDP.rebuild_all()
  model(torch.ones(1, 1)):sum():backward()
  lu.assertEquals(calls, 2)
end

function TestCommHook:test_hooks_by_name()
  for _, name in ipairs{'ALLREDUCE', 'FP16_COMPRESS', 'BF16_COMPRESS', 'NOOP', 'POWER_SGD', 'BATCHED_POWER_SGD_RANK2'} do
    local net = torch.nn.Linear(2, 1, {bias = false})
    local model = DDP(net)
    hooks.register_ddp_comm_hook(hooks.DDPCommHookType[name], model)
    model(torch.ones(1, 2)):sum():backward()
    lu.assertEquals(net.weight.grad:tolist(), {{1, 1}})
  end
end

function TestCommHook:test_the_state_of_power_sgd_is_checked_and_saved()
  local State = hooks.powerSGD_hook.PowerSGDState
  lu.assertErrorMsgContains('start_powerSGD_iter = 1: expected at least 2', State, nil, {start_powerSGD_iter = 1})
  lu.assertErrorMsgContains('matrix_approximation_rank = 0', State, nil, {matrix_approximation_rank = 0})
  lu.assertErrorMsgContains("did you mean 'warm_start'?", State, {warm_star = true})
  local function train(state, net, count)
    local model = DDP(net)
    model:register_comm_hook(state, hooks.powerSGD_hook.powerSGD_hook)
    for i = 1, count do
      net:zero_grad{set_to_none = false}
      model(torch.arange(64):float():reshape(4, 16) + state.iter + i):pow(2):mean():backward()
      torch.no_grad(function() net.weight:sub_(net.weight.grad * 1e-4) end)
    end
  end
  torch.manual_seed(1)
  local net, state = torch.nn.Linear(16, 16), State(nil, {start_powerSGD_iter = 2})
  train(state, net, 4)
  local path = os.tmpname()
  torch.save({net = net:state_dict(), state = state:state_dict()}, path)
  local saved = torch.load(path)
  os.remove(path)
  lu.assertEquals(saved.state.iter, 4)
  local again = State{start_powerSGD_iter = 2}
  again:load_state_dict(saved.state)
  lu.assertEquals(again.iter, 4)
  lu.assertTrue(torch.equal(again.error_dict[0], state.error_dict[0]))
  lu.assertTrue(torch.equal(again.q_memory_dict[0], state.q_memory_dict[0]))
  lu.assertEquals(again:compression_stats(), state:compression_stats())
  lu.assertErrorMsgContains('has 17 elements, and had 272 before', function()
    train(again, torch.nn.Linear(16, 1), 1)
  end)
end

os.exit(lu.LuaUnit.run(), true)
