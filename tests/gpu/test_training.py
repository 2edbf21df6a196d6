"""Training on the GPU has the losses of the CPU: with one worker, and with two ranks that share the device."""

import pytest

# The same model and data on any device and any number of ranks: the losses are those of the whole batch.
TRAIN = """
local torch, train = require 'torch', require 'rtrain'
local F = torch.nn.functional

local function step(config)
  torch.manual_seed(1)
  local context = train.get_context()
  local rank, world = context:get_world_rank(), context:get_world_size()
  local model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
  local x, y = torch.randn(32, 16), torch.randint(0, 4, {32})
  model = train.torch.prepare_model(model)
  local device = train.torch.get_device()
  x, y = x:to(device):chunk(world)[rank + 1], y:to(device):chunk(world)[rank + 1]
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.5, momentum = 0.9})
  for _ = 1, 10 do
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    local mean = loss:detach():clone()
    if world > 1 then
      torch.distributed.all_reduce(mean)
      mean:div_(world)
    end
    train.report{loss = mean:item(), device = x.device}
  end
end

train.TorchTrainer{train_loop_per_worker = step, run_config = train.RunConfig{name = '%s'}}:fit()
"""


def losses(rtrain, name, *flags):
    result = rtrain.run_ok(TRAIN % name, *flags)
    rows = rtrain.reports(name)
    return [row["loss"] for row in rows], {row["device"] for row in rows}, result


@pytest.fixture
def cpu(rtrain):
    expected, devices, _ = losses(rtrain, "cpu", "-n", "1", "--gpus", "0")
    assert devices == {"cpu"} and expected[-1] < expected[0]
    return pytest.approx(expected, rel=1e-3)


def test_one_worker_has_the_losses_of_the_cpu(rtrain, cpu):
    found, devices, _ = losses(rtrain, "gpu", "-n", "1", "--gpus", "1")
    assert devices == {"cuda:0"} and found == cpu


def test_two_ranks_on_one_device_use_gloo_and_have_the_losses_of_one(rtrain, cpu):
    # Each rank has half of a device; NCCL refuses two ranks on one device.
    text = (TRAIN % "shared").replace(
        "train_loop_per_worker = step,",
        "train_loop_per_worker = step, "
        "scaling_config = train.ScalingConfig{num_workers = 2, use_gpu = true, "
        "resources_per_worker = {GPU = 0.5}},",
    )
    result = rtrain.run_ok(text)
    rows = rtrain.reports("shared")
    assert {row["device"] for row in rows} == {"cuda:0"} and [row["loss"] for row in rows] == cpu
    assert "gloo" in result.stderr.lower(), result.stderr


def test_one_rank_with_ddp_over_nccl_has_the_losses_of_the_cpu(rtrain, cpu):
    text = TRAIN % "ddp"
    for part, other in (
        (
            "model = train.torch.prepare_model(model)",
            "model = require 'torch.nn.parallel.distributed'(train.torch.prepare_model(model))",
        ),
        (
            "train.report{loss = mean:item(),",
            "train.report{loss = mean:item(), backend = torch.distributed.get_backend(),",
        ),
    ):
        assert part in text
        text = text.replace(part, other)
    result = rtrain.run_ok(text, "-n", "1", "--gpus", "1")
    rows = rtrain.reports("ddp")
    assert {row["backend"] for row in rows} == {"nccl"} and [row["loss"] for row in rows] == cpu
    assert "nccl" in result.stderr.lower(), result.stderr
