"""train.compile with ranks that exchange tensors: a step that is a plan is the eager step, bit by bit, on every rank."""

import json
import re

import pytest

# Each case trains twice on each rank, eagerly and under train.compile.
SCRIPT = """
local torch, train = require 'torch', require 'rtrain'
local default_group = require 'torch.distributed.default_group'
local dist = require 'torch.distributed'
local nn, F = torch.nn, torch.nn.functional

local WORK

-- Returns the numbers of a tensor as text without loss.
local function bits(tensor)
  return tensor == nil and 'nil' or table.concat(tensor:detach():reshape(-1):double():tolist(), ' ')
end

local function classes(count) return torch.randint(0, 3, {count}) end
local function mlp() return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)) end
local function mlp_batch() return torch.randn(8, 6), classes(8) end

local function convnet()
  return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
    nn.Linear(36, 3))
end
local function convnet_batch() return torch.randn(4, 1, 8, 8), classes(4) end

local function transformer()
  return nn.Sequential(nn.Linear(5, 8), nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, {dim_feedforward = 16,
    batch_first = true, dropout = 0.1, activation = 'gelu'}), 2), nn.Flatten(), nn.Linear(48, 3))
end
local function transformer_batch() return torch.randn(3, 6, 5), classes(3) end

local function plain(model, optimizer)
  return function(x, y)
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end
end

local function clipped(model, optimizer)
  return function(x, y)
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    local norm = nn.utils.clip_grad_norm_(model:parameters(), 0.3)
    optimizer:step()
    return loss, norm
  end
end

-- The first half of a batch accumulates on each rank.
local function accumulating(model, optimizer)
  return function(x, y)
    optimizer:zero_grad()
    local half = math.floor(x:size(1) / 2)
    model:no_sync(function() (F.cross_entropy(model(x:narrow(0, 0, half)), y:narrow(0, 0, half)) / 2):backward() end)
    local loss = F.cross_entropy(model(x:narrow(0, half, half)), y:narrow(0, half, half)) / 2
    loss:backward()
    optimizer:step()
    return loss
  end
end

local function with_metric(model, optimizer)
  local inner = plain(model, optimizer)
  return function(x, y)
    local loss = inner(x, y)
    local mean = dist.all_reduce(loss:clone(), {op = 'sum'}) / dist.get_world_size()
    local all = torch.stack(dist.all_gather(mean * (dist.get_rank() + 1)))
    dist.broadcast(mean, 1)
    dist.barrier()
    return mean, all
  end
end

-- Collectives that overlap, and a function that is called when one ends.
local function asynchronous(model, optimizer)
  local inner = plain(model, optimizer)
  return function(x, y)
    local loss = inner(x, y):detach():clone()
    local mean = x:mean(0):t()
    local works = {dist.all_reduce(loss, {async_op = true}), dist.broadcast(mean, 1, {async_op = true})}
    local half = works[1]:get_future():then_(function(future) return future:value()[1] * 0.5 end)
    local gathered, gathering = torch.zeros(2, 6), nil
    if dist.get_world_size() == 2 then
      gathering = dist.all_gather_into_tensor(gathered, x:narrow(0, 0, 1):contiguous(), {async_op = true})
    end
    local sum = x:sum()
    works[2]:wait()
    if gathering then gathering:wait() end
    return loss, half:wait(), mean * sum, gathered
  end
end

local function unfinished(model, optimizer)
  local inner = plain(model, optimizer)
  return function(x, y)
    local loss = inner(x, y):detach():clone()
    WORK = dist.all_reduce(loss, {async_op = true})
    return loss
  end
end

local function polled(model, optimizer)
  local inner = plain(model, optimizer)
  return function(x, y)
    local loss = inner(x, y):detach():clone()
    local work = dist.all_reduce(loss, {async_op = true})
    while not work:is_completed() do end
    work:wait()
    return loss
  end
end

-- Rank 1 has other batches in some calls, and records when rank 0 runs a plan.
local function uneven_batch(i)
  local rows = dist.get_rank() == 1 and (i % 5 == 0 and 4 or i % 6 == 0 and 2) or 8
  return torch.randn(rows, 6), classes(rows)
end

-- The first half of a batch accumulates whole gradients on each rank.
local function accumulating_sharded(model, optimizer)
  return function(x, y)
    optimizer:zero_grad()
    local half = math.floor(x:size(1) / 2)
    model:set_requires_gradient_sync(false)
    local first = F.cross_entropy(model(x:narrow(0, 0, half)), y:narrow(0, 0, half)) / 2
    first:backward()
    model:set_requires_gradient_sync(true)
    local loss = F.cross_entropy(model(x:narrow(0, half, half)), y:narrow(0, half, half)) / 2
    loss:backward()
    optimizer:step()
    return loss
  end
end

-- Gradients stay from step to step.
local function keeping_gradients(model, optimizer)
  return function(x, y)
    optimizer:zero_grad{set_to_none = false}
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end
end

-- Parameters are kept after backward; the step gathers one of them itself.
local function gathering(model, optimizer)
  model:set_reshard_after_backward(false)
  local inner = plain(model, optimizer)
  return function(x, y)
    local loss = inner(x, y)
    return loss, model[1].weight:full_tensor():sum()
  end
end

-- Parameters are whole from the step's begin to the end of its backward.
local function unsharded(model, optimizer)
  return function(x, y)
    optimizer:zero_grad()
    model:unshard()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    model:reshard()
    optimizer:step()
    return loss
  end
end

-- Rank 0 stays eager.
local function eager_on_rank_0(model, optimizer)
  local inner = plain(model, optimizer)
  return function(x, y)
    local loss = inner(x, y)
    if dist.get_rank() == 0 then loss:item() end
    return loss
  end
end

local function drop_plan(i, step)
  if type(step) == 'table' and dist.get_rank() == 0 and i % 8 == 0 then step:reset() end
end

local CASES = {
  mlp = {mlp, mlp_batch, plain},
  convnet = {convnet, convnet_batch, plain},
  transformer = {transformer, transformer_batch, clipped},
  accumulation = {mlp, mlp_batch, accumulating},
  metric = {mlp, mlp_batch, with_metric},
  small_buckets = {transformer, transformer_batch, plain, {bucket_cap_mb = 0.0005}},
  own_gradients = {mlp, mlp_batch, clipped, {gradient_as_bucket_view = false, bucket_cap_mb = 0.0005}},
  own_accumulation = {mlp, mlp_batch, accumulating, {gradient_as_bucket_view = false}},
  static_graph = {mlp, mlp_batch, plain, {static_graph = true}},
  sync_batchnorm = {function() return nn.SyncBatchNorm.convert_sync_batchnorm(convnet()) end, convnet_batch, plain},
  other_shapes = {mlp, uneven_batch, plain},
  eager_rank = {mlp, mlp_batch, eager_on_rank_0},
  dropped_plan = {mlp, mlp_batch, plain, before = drop_plan},
  outer_no_sync = {mlp, mlp_batch, plain, outer = function(i, model, call, x, y)
    if i % 4 ~= 0 then return call(x, y) end
    return model:no_sync(function() return call(x, y) end)
  end},
  unused = {mlp, mlp_batch, plain, {find_unused_parameters = true}},
  sharded = {mlp, mlp_batch, plain, {wrap = nn.Linear}, strategy = 'fsdp'},
  sharded_norm = {transformer, transformer_batch, clipped, {wrap = nn.TransformerEncoderLayer}, strategy = 'fsdp'},
  sharded_convnet = {convnet, convnet_batch, plain, {wrap = nn.Conv2d, reshard_after_forward = true}, strategy = 'fsdp'},
  sharded_kept = {mlp, mlp_batch, plain, {wrap = nn.Linear, reshard_after_forward = false}, strategy = 'fsdp'},
  sharded_mixed = {mlp, mlp_batch, plain, strategy = 'fsdp', {wrap = nn.Linear,
    mp_policy = dist.fsdp.MixedPrecisionPolicy{param_dtype = 'bfloat16', reduce_dtype = 'float32', output_dtype = 'float32'}}},
  sharded_accumulation = {mlp, mlp_batch, accumulating_sharded, {wrap = nn.Linear}, strategy = 'fsdp'},
  sharded_gradients = {mlp, mlp_batch, keeping_gradients, {wrap = nn.Linear}, strategy = 'fsdp'},
  sharded_whole = {mlp, mlp_batch, gathering, {wrap = nn.Linear}, strategy = 'fsdp'},
  sharded_unshard = {mlp, mlp_batch, unsharded, strategy = 'fsdp'},
  sharded_frozen = {mlp, mlp_batch, plain, {wrap = nn.Linear}, function(model) model[1].weight.requires_grad = false end,
    strategy = 'fsdp'},
  sharded_uneven = {mlp, uneven_batch, plain, {wrap = nn.Linear}, strategy = 'fsdp'},
  sharded_dropped = {mlp, mlp_batch, plain, {wrap = nn.Linear}, strategy = 'fsdp', before = drop_plan},
  sharded_eager_rank = {mlp, mlp_batch, eager_on_rank_0, {wrap = nn.Linear}, strategy = 'fsdp'},
  sharded_evaluated = {mlp, mlp_batch, plain, {wrap = nn.Linear}, strategy = 'fsdp', outer = function(i, model, call, x, y)
    local loss = call(x, y)
    if i % 3 ~= 0 then return loss end
    model:eval()
    local evaluated = torch.no_grad(function() return model(x) end)
    model:train()
    return loss, evaluated
  end},
  zero = {transformer, transformer_batch, plain, {zero = 2}},
  asynchronous = {mlp, mlp_batch, asynchronous},
  unfinished = {mlp, mlp_batch, unfinished, outer = function(_, _, call, ...)
    local loss = call(...)
    WORK:wait()
    return loss
  end},
  polled = {mlp, mlp_batch, polled},
  bf16 = {mlp, mlp_batch, plain, {}, function(model) model:register_comm_hook 'bf16_compress' end},
  hook = {mlp, mlp_batch, plain, {}, function(model)
    model:register_comm_hook(nil, function(_, bucket)
      return dist.all_reduce(bucket:buffer(), {async_op = true}):get_future():then_(function(future)
        return future:value()[1] * 0.25
      end)
    end)
  end},
}

local function directly(_, _, call, ...) return call(...) end

local function states_of(model, optimizer)
  local out = {}
  for _, p in ipairs(model:parameters()) do
    out[#out + 1] = bits(p)
    out[#out + 1] = bits(p.grad)
    for _, name in ipairs{'exp_avg', 'exp_avg_sq', 'step'} do out[#out + 1] = bits(optimizer.state[p][name]) end
  end
  for _, buffer in ipairs(model:buffers()) do out[#out + 1] = bits(buffer) end
  out[#out + 1] = bits(torch.rand(3))
  return table.concat(out, ';')
end

-- Returns all that can be seen of a run of 20 steps.
local function trained(case, compiles)
  local make, batch, step_of, options, prepare = unpack(case, 1, 5)
  local outer, before = case.outer or directly, case.before or function() end
  torch.manual_seed(7)
  local model = train.torch.prepare_model(make(), {parallel_strategy = case.strategy, parallel_strategy_kwargs = options})
  if prepare then prepare(model) end
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
  local call = step_of(model, optimizer)
  if compiles then call = train.compile(call) end
  torch.manual_seed(11 + dist.get_rank())
  local seen, num_collectives = {}, default_group.num_collectives()
  for i = 1, 20 do
    before(i, call)
    for _, result in ipairs{outer(i, model, call, batch(i))} do seen[#seen + 1] = bits(result) end
    if i % 7 == 0 then optimizer.param_groups[1].lr = 0.01 / i end
  end
  seen[#seen + 1] = states_of(model, optimizer)
  seen[#seen + 1] = default_group.num_collectives() - num_collectives
  return table.concat(seen, '\\n'), call
end

local function train_func(config)
  local out = {}
  for name in config.cases:gmatch '%S+' do
    local eager = trained(CASES[name], false)
    local compiled, step = trained(CASES[name], true)
    out[name] = {same = eager == compiled, state = step.state, reason = step.reason, length = #eager}
  end
  train.report{out = out}
  print('rank', dist.get_rank(), require('json').encode(out))
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {cases = 'mlp'},
  torch_config = {backend = 'BACKEND'},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""

CASES = (
    "mlp convnet transformer accumulation metric small_buckets own_gradients own_accumulation static_graph "
    "asynchronous sync_batchnorm bf16 hook other_shapes dropped_plan outer_no_sync"
)


SHARDED = (
    "sharded sharded_norm sharded_convnet sharded_kept sharded_mixed sharded_unshard sharded_accumulation "
    "sharded_gradients sharded_whole sharded_frozen sharded_uneven sharded_dropped sharded_evaluated zero"
)


def ranks_of(result):
    """What each rank says of each case."""
    return [json.loads(line.split("\t")[2]) for line in result.stdout.splitlines() if "rank\t" in line]


def assert_same_bits(rtrain, cases, *args, backend="shm"):
    ranks = ranks_of(rtrain.run_ok(SCRIPT.replace("BACKEND", backend), "--set", f"cases={cases}", *args))
    assert ranks and all(sorted(rank) == sorted(cases.split()) for rank in ranks)
    for rank in ranks:
        for name, case in rank.items():
            assert case["same"], (name, case)
    return ranks


@pytest.mark.parametrize("num_workers", [2, 3])
def test_plans_equal_the_eager_steps(rtrain, num_workers):
    ranks = assert_same_bits(rtrain, CASES, "-n", str(num_workers))
    assert len(ranks) == num_workers
    for rank in ranks:
        assert {name: case["state"] for name, case in rank.items()} == dict.fromkeys(CASES.split(), "compiled")


@pytest.mark.parametrize("backend, num_workers", [("shm", 2), ("shm", 3), ("gloo", 2), ("gloo", 3)])
def test_plans_of_sharded_models_equal_the_eager_steps(rtrain, backend, num_workers):
    ranks = assert_same_bits(rtrain, SHARDED, "-n", str(num_workers), backend=backend)
    assert len(ranks) == num_workers
    for rank in ranks:
        assert {name: case["state"] for name, case in rank.items()} == dict.fromkeys(SHARDED.split(), "compiled")


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_plans_of_sharded_models_are_checked_next_to_the_step(rtrain, backend):
    rtrain.env["RTRAIN_COMPILE_CHECK"] = "1"
    for rank in assert_same_bits(rtrain, "sharded sharded_norm sharded_kept sharded_mixed zero", backend=backend):
        assert {case["state"] for case in rank.values()} == {"compiled"}


def test_plans_over_gloo_equal_the_eager_steps(rtrain):
    assert_same_bits(rtrain, "transformer accumulation metric small_buckets", backend="gloo")


def test_plans_are_checked_next_to_the_step(rtrain):
    rtrain.env["RTRAIN_COMPILE_CHECK"] = "1"
    for rank in assert_same_bits(rtrain, "transformer convnet accumulation metric own_gradients sync_batchnorm"):
        assert {case["state"] for case in rank.values()} == {"compiled"}


@pytest.mark.parametrize(
    "name, backend", [("eager_rank", "shm"), ("sharded_eager_rank", "shm"), ("sharded_eager_rank", "gloo")]
)
def test_a_rank_may_run_eagerly_while_another_runs_its_plan(rtrain, name, backend):
    by_state = {rank[name]["state"]: rank[name] for rank in assert_same_bits(rtrain, name, backend=backend)}
    assert set(by_state) == {"eager", "compiled"}
    assert "reads a number out of a tensor" in by_state["eager"]["reason"]


@pytest.mark.parametrize(
    "name, reason",
    [
        ("unused", "find_unused_parameters = true: any step may use other parameters"),
        ("unfinished", "a collective that it begins does not end in it"),
        ("polled", "it asks whether a collective has ended"),
    ],
)
def test_what_stays_eager_says_why(rtrain, name, reason):
    for rank in assert_same_bits(rtrain, name):
        assert rank[name]["state"] == "eager"
        assert rank[name]["reason"].startswith(reason)


# Rank 1 is late in step 8, which is a plan; rank 0 waits for it in the broadcast of buffers or in an exchange of gradients.
LATE = """
local torch, train = require 'torch', require 'rtrain'
local nn = torch.nn

local function train_func(config)
  local rank = train.get_context():get_world_rank()
  local model = train.torch.prepare_model(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)),
    {parallel_strategy_kwargs = {broadcast_buffers = BUFFERS}})
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 0.01})
  local function eager(x)
    optimizer:zero_grad()
    local loss = model(x):square():mean()
    loss:backward()
    optimizer:step()
    return loss
  end
  local step = config.compile == 1 and train.compile(eager) or eager
  for i = 1, 12 do
    if rank == 1 and i == 8 then os.execute 'sleep 3' end
    local ok, err = pcall(step, torch.randn(8, 6))
    if not ok then
      print('LATE', i, err.code, err.message)
      error(err, 0)
    end
  end
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {compile = 1},
  torch_config = {timeout_s = 1.5, backend = 'BACKEND'},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


@pytest.mark.parametrize("backend", ["shm", "gloo"])
@pytest.mark.parametrize("buffers", ["true", "false"])
def test_a_late_rank_is_named_as_in_the_eager_step(rtrain, backend, buffers):
    script = LATE.replace("BACKEND", backend).replace("BUFFERS", buffers)

    def message(*args):
        result = rtrain.run(script, *args)
        assert result.returncode != 0
        (line,) = [line for line in result.stdout.splitlines() if "[rank 0] LATE" in line]
        line = re.sub(r"train\.lua:\d+", "train.lua", line)
        # Which of Gloo's operations fails first is not the same in each run.
        return re.sub(r"in time \(.*?\);", "in time;", line)

    eager = message("--set", "compile=0")
    assert "\t8\ttimeout\t" in eager
    assert message() == eager


HOROVOD = """
local torch, train = require 'torch', require 'rtrain'
local hvd = require 'horovod.torch'
local nn = torch.nn

local function trained(compiles)
  torch.manual_seed(3)
  local model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
  local optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model:parameters(), {lr = 0.1, momentum = 0.9}),
    {named_parameters = model:named_parameters()})
  local function eager(x, y)
    optimizer:zero_grad()
    local loss = nn.functional.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end
  local step = compiles and train.compile(eager) or eager
  torch.manual_seed(5 + hvd.rank())
  for _ = 1, 12 do step(torch.randn(4, 6), torch.randint(0, 3, {4})) end
  return model:state_dict(), step
end

train.TorchTrainer{
  train_loop_per_worker = function()
    hvd.init()
    local eager = trained(false)
    local compiled, step = trained(true)
    local same = true
    for _, name in ipairs(require('base.ordered').keys_of(eager)) do
      same = same and torch.equal(eager[name], compiled[name])
    end
    print('HOROVOD', step.state, same)
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


def test_an_optimizer_of_horovod_is_a_part_of_the_plan(rtrain):
    assert rtrain.run_ok(HOROVOD).stdout.count("HOROVOD\tcompiled\ttrue") == 2
