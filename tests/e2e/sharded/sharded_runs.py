"""A train function that tests of sharded models share, on shared memory and over Gloo."""

import json

import pytest

# Runs `BODY` on RANKS workers with a function `model()`, which makes the same model on each rank, and a table `out` of
# results, which rank 0 prints.
RUN = """
local json, torch, train = require 'json', require 'torch', require 'rtrain'
local nn, F, dist = torch.nn, torch.nn.functional, torch.distributed
local fully_shard = dist.fsdp.fully_shard
train.TorchTrainer{
  train_loop_per_worker = function()
    local rank, out = train.get_context():get_world_rank(), {}
    local function model()
      torch.manual_seed(3)
      return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5))
    end
    local function refused(fn)
      local ok, problem = pcall(fn)
      return ok and 'not refused' or tostring(problem)
    end
    local x = torch.ones(2, 4)
    BODY
    if rank == 0 then print('OUT ' .. json.encode(out)) end
  end,
  scaling_config = train.ScalingConfig{num_workers = RANKS},
  torch_config = train.TorchConfig{backend = 'BACKEND'},
}:fit()
"""


@pytest.fixture(params=["shm", "gloo"])
def sharded(rtrain, request):
    def run(body, ranks=2):
        text = RUN.replace("BODY", body).replace("RANKS", str(ranks)).replace("BACKEND", request.param)
        result = rtrain("run", rtrain.script(text), "--oversubscribe")
        assert result.returncode == 0, result.stdout + result.stderr
        (line,) = [line for line in result.stdout.splitlines() if "OUT " in line]
        return json.loads(line.split("OUT ", 1)[1])

    return run
