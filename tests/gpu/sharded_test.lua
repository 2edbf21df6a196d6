-- fully_shard on one device, over NCCL: the numbers are those of the whole model.
local lu = require 'luaunit'
local torch = require 'torch'
local dist, nn = torch.distributed, torch.nn
local class = require 'base.class'
local fsdp = dist.fsdp

TestSharded = {}

function TestSharded:setUp() dist.init_process_group('nccl', {rank = 0, world_size = 1}) end

function TestSharded:tearDown() dist.destroy_process_group() end

local function make_model()
  torch.manual_seed(3)
  return nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 64), nn.Linear(64, 8)):to 'cuda'
end

-- Returns the losses of five steps, and the parameters as they are after them, on the CPU.
local function trained(options)
  local model = make_model()
  if options then
    for _, layer in ipairs(model:children()) do
      if class.is(layer, nn.Linear) then fsdp.fully_shard(layer, options) end
    end
    fsdp.fully_shard(model, options)
  end
  local optimizer, losses, values = torch.optim.AdamW(model:parameters(), {lr = 0.01}), {}, {}
  for step = 1, 5 do
    torch.manual_seed(step)
    local loss = model(torch.randn(16, 64):to 'cuda'):float():pow(2):mean()
    optimizer:zero_grad()
    loss:backward()
    nn.utils.clip_grad_norm_(model:parameters(), 0.5)
    optimizer:step()
    losses[step] = loss:item()
  end
  for name, param in model:named_parameters() do
    values[name] = options and param:full_tensor():detach():cpu() or param:detach():cpu()
  end
  return losses, values
end

local function check(options, tolerance)
  local wanted_losses, wanted = trained(nil)
  local losses, found = trained(options)
  for step = 1, 5 do lu.assertAlmostEquals(losses[step], wanted_losses[step], tolerance * 10) end
  for name, value in pairs(wanted) do
    lu.assertTrue(torch.allclose(found[name], value, {rtol = tolerance, atol = tolerance}), name)
  end
end

function TestSharded:test_the_numbers_of_the_whole_model() check({}, 1e-5) end

function TestSharded:test_gathered_parameters_that_are_kept() check({reshard_after_forward = false}, 1e-5) end

function TestSharded:test_rows_on_the_host()
  check({offload_policy = fsdp.CPUOffloadPolicy()}, 1e-5)
  local layer = fsdp.fully_shard(nn.Linear(4, 2):to 'cuda', {offload_policy = fsdp.CPUOffloadPolicy()})
  lu.assertEquals(tostring(layer.weight.device), 'cpu')
  lu.assertTrue(layer.weight:to_local():is_pinned())
  lu.assertTrue(layer(torch.ones(1, 4, {device = 'cuda'})).is_cuda)
end

function TestSharded:test_mixed_precision()
  check({mp_policy = fsdp.MixedPrecisionPolicy{param_dtype = 'bfloat16', reduce_dtype = 'float32'}}, 0.05)
end

function TestSharded:test_gathered_parameters_are_freed()
  torch.ones(2, 2, {device = 'cuda'}):matmul(torch.ones(2, 2, {device = 'cuda'}))  -- cuBLAS allocates its workspace
  collectgarbage()
  local before = torch.cuda.memory_allocated()
  local model = nn.Sequential(nn.Linear(1024, 1024), nn.Linear(1024, 1024)):to 'cuda'
  for _, layer in ipairs(model:children()) do fsdp.fully_shard(layer) end
  fsdp.fully_shard(model)
  torch.no_grad(function() model(torch.ones(1, 1024, {device = 'cuda'})) end)
  torch.cuda.synchronize()
  collectgarbage()
  local rows, used = 2 * (1024 * 1024 + 1024) * 4, torch.cuda.memory_allocated() - before
  lu.assertTrue(used < 1.5 * rows, used)
end

os.exit(lu.LuaUnit.run(), true)
