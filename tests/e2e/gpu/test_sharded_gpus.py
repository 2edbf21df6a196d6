"""fully_shard on GPUs that tests/fake_nvidia simulates: copies, matrix products and NCCL's collectives really compute
there. The model has only such operators, so that its numbers are those of CPUs; the optimizer computes on the CPU."""

import re

import pytest

from fake_driver import simulate_gpus

TRAINING = """
local files = require 'files'
local torch, train = require 'torch', require 'rtrain'
local nn, fsdp = torch.nn, torch.distributed.fsdp

local function train_func()
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(5)
  local net = nn.Sequential(nn.Linear(6, 5, {bias = false}), nn.Linear(5, 7, {bias = false}), nn.Linear(7, 3, {bias = false}))
  local model = train.torch.prepare_model(net, {parallel_strategy = 'fsdp', parallel_strategy_kwargs = {@OPTIONS@}})
  local optimizer = require 'host_sgd'(model:parameters())
  local device = train.torch.get_device()
  torch.manual_seed(7 + rank)
  local state = train.state{model = model, optimizer = optimizer, step = 0}
  train.elastic(state, function()
    while state.step < 6 do
      optimizer:zero_grad()
      local y = model(torch.randn(4, 6):to(device))
      @AT_STEP@
      y:backward(torch.randn(4, 3):to(device))
      optimizer:step()
      state.step = state.step + 1
      train.report{step = state.step, backend = torch.distributed.get_backend(), device = tostring(y.device)}
      state:commit()
    end
  end)
  local values = {}
  for _, param in ipairs(model:parameters()) do
    local whole = param:full_tensor():to 'cpu'
    for _, value in ipairs(whole:reshape(-1):tolist()) do values[#values + 1] = ('%.6f'):format(value) end
  end
  print('END ' .. table.concat(values, ' '))
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = 3, use_gpu = @GPU@},
  torch_config = train.TorchConfig{timeout_s = 60},
  run_config = train.RunConfig{name = 'sharded'},
}:fit()
"""


def training(options, gpu, at_step=""):
    return TRAINING.replace("@OPTIONS@", options).replace("@GPU@", gpu).replace("@AT_STEP@", at_step)


def ends(result):
    """Returns the numbers that each rank printed at its end."""
    lines = re.findall(r"\[rank \d\] END (.*)", result.stdout + result.stderr)
    return [[float(value) for value in line.split()] for line in lines]


CASES = {
    "wrapped": "wrap = nn.Linear",
    "one group": "",
    "kept": "wrap = nn.Linear, reshard_after_forward = false",
    "offloaded": "wrap = nn.Linear, offload_policy = fsdp.CPUOffloadPolicy()",
    "hybrid mesh": "wrap = nn.Linear, mesh = torch.distributed.init_device_mesh('cuda', {1, 3})",
}


@pytest.mark.parametrize("case", CASES)
def test_a_sharded_model_on_gpus_has_the_numbers_of_cpus(rtrain, case):
    on_cpus = ends(rtrain.run_ok(training("wrap = nn.Linear", "false"), "--name", "cpus"))
    simulate_gpus(rtrain, 3)
    result = rtrain.run_ok(training(CASES[case], "true"))
    metrics = rtrain.json("metrics", "sharded")[-1]["metrics"]
    assert metrics["backend"] == "nccl" and metrics["device"] == "cuda:0"
    found = ends(result)
    assert len(found) == len(on_cpus) == 3
    for values in found:
        assert values == pytest.approx(on_cpus[0], abs=2e-6)


def test_a_lost_ranks_rows_come_from_the_rank_that_keeps_them(rtrain):
    simulate_gpus(rtrain, 3)
    options = "wrap = nn.Linear, replicas = 1"
    calm = ends(rtrain.run_ok(training(options, "true"), "--name", "calm"))
    lose = "if rank == {} and state.step == {} and files.once 'lost-{}' then os.execute 'kill -9 $PPID' end"
    at_step = lose.format(1, 2, 2) + "\n" + lose.format(0, 4, 4)
    result = rtrain.run_ok(training(options, "true", at_step))
    rows = rtrain.query(
        "SELECT attempts.status FROM attempts JOIN runs USING(run_id) WHERE name = 'sharded' ORDER BY attempt"
    )
    assert [status for (status,) in rows] == ["HEALED", "HEALED", "FINISHED"]
    assert ends(result) == calm


WITHOUT_MEMORY = """
local torch, train = require 'torch', require 'rtrain'
local nn, dist = torch.nn, torch.distributed
train.TorchTrainer{
  train_loop_per_worker = function()
    local function network()
      torch.manual_seed(3)
      return nn.Sequential(nn.Linear(4, 6, {bias = false}), nn.Linear(6, 5, {bias = false}))
    end
    local whole, saved, parts = network(), network():to 'cuda', torch.device('meta', network)
    dist.fsdp.fully_shard(saved)
    dist.checkpoint.save({model = saved:state_dict()}, {checkpoint_id = 'saved'})
    for i = 1, 2 do dist.fsdp.fully_shard(parts[i]) end
    dist.fsdp.fully_shard(parts)
    parts:to_empty{device = 'cuda'}
    dist.checkpoint.load({model = parts:state_dict()}, {checkpoint_id = 'saved'})
    parts[1]:set_modules_to_forward_prefetch{parts[2]}
    local x = torch.arange(8):view(2, 4) * 0.1
    train.report{
      device = parts[2].weight.device, same = torch.equal(parts[2].weight:full_tensor():cpu(), whole[2].weight),
      same_outputs = torch.allclose(parts(x:to 'cuda'):cpu(), whole(x)),
    }
  end,
  scaling_config = train.ScalingConfig{num_workers = 2, use_gpu = true},
  run_config = train.RunConfig{name = 'loaded'},
}:fit()
"""


def test_a_checkpoint_fills_a_model_without_memory(rtrain):
    simulate_gpus(rtrain, 2)
    rtrain.run_ok(WITHOUT_MEMORY)
    assert rtrain.json("metrics", "loaded")[-1]["metrics"] == {"device": "cuda:0", "same": True, "same_outputs": True}
