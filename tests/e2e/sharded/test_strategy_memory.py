"""The memory of a worker with each strategy of prepare_model: the table of guide/models-larger-than-a-device."""

import re

import pytest

from conftest import SOURCE

SCRIPT = """
local json, torch, train = require 'json', require 'torch', require 'rtrain'
local C, nn = require 'torch._C', torch.nn
local LAYERS, WIDTH = LAYERS_HERE, 256
train.TorchTrainer{
  train_loop_per_worker = function(config)
    torch.set_num_threads(1)
    local before = C.memory_stats().live_bytes
    local model = nn.Sequential()
    for i = 1, LAYERS do model:append(nn.Linear(WIDTH, WIDTH, {bias = false})) end
    local kwargs = config.strategy == 'fsdp' and {wrap = nn.Linear} or config.zero > 0 and {zero = config.zero} or nil
    model = train.torch.prepare_model(model, {parallel_strategy = config.strategy, parallel_strategy_kwargs = kwargs})
    local optimizer = torch.optim.Adam(model:parameters())
    local function bytes(name) return (C.memory_stats()[name] - before) / (LAYERS * WIDTH * WIDTH) end
    local peak = math.huge
    for step = 1, 6 do
      for i = 1, 2 do collectgarbage() end
      C.reset_peak_memory_stats()
      optimizer:zero_grad()
      model(torch.ones(1, WIDTH)):sum():backward()
      -- Where other programs use the cores, Gloo's threads may keep tensors of the step before.
      if step > 2 then peak = math.min(peak, bytes 'peak_bytes') end
      optimizer:step()
    end
    for i = 1, 4 do collectgarbage() end
    torch.distributed.barrier()  -- Gloo's threads keep the tensors of their last operation
    train.report{rest = bytes 'live_bytes', peak = peak}
  end,
  train_loop_config = {strategy = 'STRATEGY', zero = ZERO},
  scaling_config = train.ScalingConfig{num_workers = RANKS},
  torch_config = train.TorchConfig{backend = 'BACKEND'},
  run_config = train.RunConfig{name = 'measured'},
}:fit()
"""
STRATEGIES = {"ddp": ("ddp", 0), "zero = 1": ("ddp", 1), "zero = 2": ("ddp", 2), "fsdp": ("fsdp", 0)}
GUIDE = SOURCE / "modules" / "rtrain" / "guide" / "models-larger-than-a-device.md"


def row_of(strategy):
    """The row of the guide's table: bytes between steps, at most on one node, at most elsewhere."""
    rows = re.findall(r"^\| `(.+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", GUIDE.read_text(), re.MULTILINE)
    return next([float(number) for number in row[1:]] for row in rows if row[0] == strategy)


def measured(rtrain, strategy, zero, backend):
    text = SCRIPT
    for mark, value in (
        ("LAYERS_HERE", 16),
        ("STRATEGY", strategy),
        ("ZERO", zero),
        ("RANKS", 4),
        ("BACKEND", backend),
    ):
        text = text.replace(mark, str(value))
    rtrain.run_ok(text, "--oversubscribe")
    return rtrain.json("metrics", "measured", "--ranks")[0]["ranks"]


@pytest.mark.parametrize("backend", ["cpu:shm,cuda:nccl", "gloo"], ids=["shm", "gloo"])
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_worker_needs_what_the_guide_says(rtrain, name, backend):
    rest, here, elsewhere = row_of(name)
    for rank in measured(rtrain, *STRATEGIES[name], backend):
        assert rest - 0.1 < rank["rest"] < rest + 0.4
        assert rank["peak"] == pytest.approx(elsewhere if backend == "gloo" else here, rel=0.1)
