"""A train function on GPUs that tests/fake_nvidia simulates: which device each rank gets, and what it runs there."""

import pytest

from fake_driver import simulate_gpus

SCRIPT = """
    local torch = require 'torch'
    local train = require 'rtrain'
    train.TorchTrainer{train_loop_per_worker = function()
      BODY
    end, scaling_config = train.ScalingConfig{num_workers = WORKERS, use_gpu = true}, torch_config = train.TorchConfig{TORCH}
    }:fit()
    """


def reports(rtrain, workers, body, torch_config=""):
    """Returns the report of each rank; `body` is the train function's body, and each rank has a GPU."""
    simulate_gpus(rtrain, workers)
    rtrain.run_ok(SCRIPT.replace("BODY", body).replace("WORKERS", str(workers)).replace("TORCH", torch_config))
    return rtrain.json("metrics", "last", "--ranks")[0]["ranks"]


def test_each_rank_has_its_device(rtrain):
    ranks = reports(
        rtrain,
        2,
        """
      local x = torch.tensor{1, 2, 3}:to(train.torch.get_device())
      train.report{device = tostring(x.device), last = x:cpu()[2]:item(), current = torch.cuda.current_device()}
      """,
    )
    assert [rank["device"] for rank in ranks] == ["cuda:0", "cuda:1"]
    assert [rank["last"] for rank in ranks] == [3, 3]
    assert [rank["current"] for rank in ranks] == [0, 1]


@pytest.mark.parametrize("torch_config, current", [("", [0, 1]), ("set_cuda_device = false", [0, 0])])
def test_the_current_device_of_a_rank(rtrain, torch_config, current):
    """set_cuda_device decides which device `cuda` is; prepare_model and get_device take the rank's own all the same."""
    ranks = reports(
        rtrain,
        2,
        """
      local model = train.torch.prepare_model(torch.nn.Linear(1, 1), {parallel_strategy = 'none'})
      train.report{current = torch.cuda.current_device(), made = tostring(torch.zeros(1, {device = 'cuda'}).device),
                   device = train.torch.get_device(), model = tostring(train.torch.unwrap(model).weight.device)}
      """,
        torch_config,
    )
    assert [rank["current"] for rank in ranks] == current
    assert [rank["made"] for rank in ranks] == [f"cuda:{device}" for device in current]
    assert [rank["device"] for rank in ranks] == [rank["model"] for rank in ranks] == ["cuda:0", "cuda:1"]


def test_a_step_of_two_ranks_is_one_graph(rtrain):
    ranks = reports(
        rtrain,
        2,
        """
      local rank = train.get_context():get_world_rank()
      local model = train.torch.prepare_model(torch.nn.Linear(1, 1, {bias = false}))
      local optimizer, calls = torch.optim.SGD(model:parameters(), {lr = 0}), 0
      local step = train.graph(function(x)
        calls = calls + 1
        optimizer:zero_grad()
        model(x):sum():backward()
        optimizer:step()
      end)
      for i = 1, 15 do step(torch.full({1, 1}, (rank + 1) * i):to(train.torch.get_device())) end
      torch.cuda.synchronize()
      train.report{state = step.reason or step.state, calls = calls}
      """,
    )
    # The first eleven calls warm up, the twelfth is captured, and later calls run no Lua.
    assert [(rank["state"], rank["calls"]) for rank in ranks] == [("captured", 12)] * 2


def test_reproducibility_makes_the_gpus_deterministic(rtrain):
    (metrics,) = reports(
        rtrain,
        1,
        """
      torch.backends.cudnn.benchmark = true
      train.torch.enable_reproducibility(3)
      train.report{workspace = os.getenv 'CUBLAS_WORKSPACE_CONFIG', benchmark = torch.backends.cudnn.benchmark,
                   deterministic = torch.are_deterministic_algorithms_enabled()}
      """,
    )
    assert metrics == {"workspace": ":4096:8", "benchmark": False, "deterministic": True}
