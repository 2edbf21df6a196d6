-- A process group of one rank over NCCL: collectives, DistributedDataParallel and its hooks, SyncBatchNorm.
local lu = require 'luaunit'
local torch = require 'torch'
local DistributedDataParallel = require 'torch.nn.parallel.distributed'
local dist = require 'torch.distributed'
local nn = torch.nn

TestNccl = {}

function TestNccl:setUp() dist.init_process_group('nccl', {rank = 0, world_size = 1}) end

function TestNccl:tearDown() dist.destroy_process_group() end

function TestNccl:test_the_backend()
  lu.assertTrue(dist.is_nccl_available())
  lu.assertEquals(dist.get_backend(), 'nccl')
end

function TestNccl:test_collectives_of_device_and_cpu_tensors()
  for _, dtype in ipairs {'float32', 'float64', 'float16', 'bfloat16', 'int32', 'int64'} do
    local x = torch.arange(5, {dtype = dtype, device = 'cuda'})
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    lu.assertEquals(dist.all_gather(x)[1]:tolist(), {0, 1, 2, 3, 4}, dtype)
    local out = torch.zeros_like(x)
    dist.reduce_scatter(out, {x})
    lu.assertEquals(out:tolist(), {0, 1, 2, 3, 4}, dtype)
  end
  local on_cpu = torch.tensor {1, 2}
  dist.all_reduce(on_cpu, 'max')
  lu.assertEquals(on_cpu:tolist(), {1, 2})
  dist.barrier()
end

function TestNccl:test_a_view_is_reduced_in_place()
  local base = torch.arange(6, {dtype = 'float32', device = 'cuda'}):view(2, 3)
  dist.all_reduce(base:t(), 'avg')
  lu.assertEquals(base:tolist(), {{0, 1, 2}, {3, 4, 5}})
end

-- Compares the gradients of a step with and without the wrapper; the tolerance is that of the communicated dtype.
local function check_gradients(hook, tolerance, fn)
  torch.manual_seed(3)
  local net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)):to('cuda')
  local x = torch.randn(32, 64, {device = 'cuda'})
  net(x):pow(2):mean():backward()
  local expected = {}
  for name, parameter in net:named_parameters() do
    expected[name] = parameter.grad:clone()
    parameter.grad = nil
  end
  local model = DistributedDataParallel(net)
  if hook or fn then model:register_comm_hook(hook, fn) end
  for _ = 1, 2 do  -- in the second step the buckets have the order of the first step's gradients
    for _, parameter in ipairs(net:parameters()) do
      if parameter.grad then parameter.grad:zero_() end
    end
    model(x):pow(2):mean():backward()
    for name, parameter in net:named_parameters() do
      lu.assertTrue(torch.allclose(parameter.grad, expected[name], {rtol = tolerance, atol = tolerance * 1e-2}), name)
    end
  end
end

function TestNccl:test_gradients() check_gradients(nil, 1e-5) end

function TestNccl:test_gradients_that_travel_as_fp16() check_gradients('fp16_compress', 2e-3) end

function TestNccl:test_gradients_that_travel_as_bf16() check_gradients('bf16_compress', 1e-2) end

local hooks = dist.algorithms.ddp_comm_hooks

function TestNccl:test_gradients_through_a_hook_of_lua()
  check_gradients(nil, 1e-5, hooks.default_hooks.allreduce_hook)
  check_gradients(nil, 2e-3, hooks.default_hooks.fp16_compress_hook)
  check_gradients(nil, 1e-2, hooks.default_hooks.bf16_compress_wrapper(hooks.default_hooks.allreduce_hook))
end

-- A product of two matrices of rank 8 represents a gradient with 8 rows exactly.
function TestNccl:test_gradients_through_power_sgd()
  local state = hooks.powerSGD_hook.PowerSGDState(nil, {
    matrix_approximation_rank = 8, start_powerSGD_iter = 0, min_compression_rate = 0, use_error_feedback = false,
    warm_start = false})
  torch.manual_seed(3)
  local net = nn.Linear(64, 8, {bias = false}):to('cuda')
  local x = torch.randn(32, 64, {device = 'cuda'})
  net(x):pow(2):mean():backward()
  local expected = net.weight.grad:clone()
  net.weight.grad = nil
  local model = DistributedDataParallel(net)
  model:register_comm_hook(state, hooks.powerSGD_hook.powerSGD_hook)
  model(x):pow(2):mean():backward()
  lu.assertTrue(torch.allclose(net.weight.grad, expected, {rtol = 1e-3, atol = 1e-5}))
  lu.assertEquals(state.iter, 1)
end

function TestNccl:test_sync_batch_norm_is_batch_norm_on_one_rank()
  local x = torch.randn(16, 4, 5, 5, {device = 'cuda'})
  local plain = nn.BatchNorm2d(4):to('cuda')
  local synced = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(4)):to('cuda')
  lu.assertTrue(torch.allclose(synced(x), plain(x), {rtol = 1e-4, atol = 1e-5}))
end

function TestNccl:test_a_model_in_two_places_is_refused()
  local net = nn.Sequential(nn.Linear(2, 2):to('cuda'), nn.Linear(2, 2))
  lu.assertErrorMsgContains('move the model to one device first', DistributedDataParallel, net)
end

function TestNccl:test_groups_again_and_again()
  for i = 1, 10 do
    dist.destroy_process_group()
    dist.init_process_group('nccl', {rank = 0, world_size = 1, is_high_priority_stream = i % 2 == 0})
    local x = torch.full({2}, i, {device = 'cuda'})
    dist.all_reduce(x)
    lu.assertEquals(x:tolist(), {i, i})
  end
end

os.exit(lu.LuaUnit.run(), true)
