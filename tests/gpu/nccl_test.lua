-- A group of one rank over NCCL: collectives, DistributedDataParallel and its hooks, SyncBatchNorm.
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

-- The gradients of a step with and without the wrapper; the tolerance is that of what travels.
local function check_gradients(hook, tolerance)
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
  if hook then model:register_comm_hook(hook) end
  for _ = 1, 2 do  -- the second step has the buckets in the order of the first one's gradients
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
