"""train.elastic on GPUs that tests/fake_nvidia simulates: copies and NCCL's reductions really compute there, so a step
of copies and collectives has real numbers."""

import os
import re
import signal
import time

import pytest

from conftest import ALL, nightly, no_process, set_cpus, wait_until
from fake_driver import FAKE_DRIVER, simulate_gpus
from test_heal import check_random_kills

pytestmark = nightly

# The gradients are reduced on the devices, where the parameters are; the optimizer computes on the CPU. Prints the
# parameters of each rank.
TRAINING = """
local files = require 'files'
local torch, train = require 'torch', require 'rtrain'
local dist = torch.distributed

local function train_func()
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(5 + rank)
  local net = torch.nn.Linear(3, 1)
  for _, param in ipairs(net:parameters()) do torch.nn.init.ones_(param) end
  net:to 'cuda'
  local optimizer = require 'host_sgd'(net:parameters())
  local state = train.state {model = net, optimizer = optimizer, step = 0}
  @BEFORE@
  train.elastic(state, function()
    @AT_START@
    while state.step < 12 do
      @AT_STEP@
      for _, param in ipairs(net:parameters()) do
        param.grad = torch.randn(param.shape):to 'cuda'
        dist.all_reduce(param.grad, 'avg')
      end
      @BEFORE_OPTIMIZER@
      optimizer:step()
      state.step = state.step + 1
      train.report {step = state.step}
      state:commit()
    end
  end)
  local values = {}
  for _, param in ipairs(net:parameters()) do
    for _, value in ipairs(param:to('cpu'):reshape(-1):tolist()) do values[#values + 1] = ('%.9g'):format(value) end
  end
  print(('END %d steps %s'):format(state.step, table.concat(values, ' ')))
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig {num_workers = 2, use_gpu = true},
  torch_config = train.TorchConfig {timeout_s = 60},
  run_config = train.RunConfig {name = 'healed'},
}:fit()
"""
LOSE = "if rank == {rank} and state.step == {step} and files.once 'lost-{step}' then os.execute 'kill -9 $PPID' end"


def training(**places):
    text = TRAINING
    for name in ("BEFORE", "AT_START", "AT_STEP", "BEFORE_OPTIMIZER"):
        text = text.replace(f"@{name}@", places.get(name.lower(), ""))
    return text


def ends(result):
    return sorted(re.findall(r"END (\d+ steps .*)", result.stdout))


def attempts(rtrain):
    return rtrain.query(
        "SELECT attempt, attempts.status FROM attempts JOIN runs USING(run_id) WHERE name = 'healed' ORDER BY attempt"
    )


@pytest.fixture
def gpus(rtrain):
    simulate_gpus(rtrain, 2)
    return rtrain


CALM = []


def calm(gpus):
    """Returns the END lines of a run without losses; the run is the same each time."""
    if not CALM:
        CALM.extend(ends(gpus.run_ok(training(), "--name", "calm")))
        assert len(CALM) == 2 and CALM[0] == CALM[1] and CALM[0].startswith("12 steps "), CALM
    return CALM


def test_ranks_that_wait_on_their_devices_come_back_and_lose_nothing(gpus):
    wanted = calm(gpus)
    lose = LOSE.format(rank=1, step=4) + "\n" + LOSE.format(rank=0, step=9)
    result = gpus.run_ok(training(at_step=lose))
    assert ends(result) == wanted
    assert attempts(gpus) == [(1, "HEALED"), (2, "HEALED"), (3, "FINISHED")]
    steps = gpus.query(
        "SELECT json_extract(metrics, '$.step') FROM reports JOIN runs USING(run_id) WHERE name = 'healed' "
        "AND superseded = 0 AND rank = 0 ORDER BY idx"
    )
    assert [step for (step,) in steps] == list(range(1, 13))


def test_workers_killed_at_random_moments_leave_the_bits_alone(gpus, tmp_path):
    check_random_kills(tmp_path, 8 if ALL else 3, "--gpus", FAKE_DRIVER)


def test_a_rank_that_is_lost_between_its_collectives_and_its_step(gpus):
    wanted = calm(gpus)
    result = gpus.run_ok(training(before_optimizer=LOSE.format(rank=1, step=4)))
    assert ends(result) == wanted
    assert attempts(gpus) == [(1, "HEALED"), (2, "FINISHED")]


def test_a_rank_that_cannot_be_replaced_is_left_out(rtrain):
    """The remaining ranks get a new communicator of two devices."""
    simulate_gpus(rtrain, 3)
    set_cpus(rtrain, 3)
    rtrain.env["RTRAIN_FAULT"] = no_process(4)
    result = rtrain.run_ok(
        training(at_step=LOSE.format(rank=2, step=4)).replace("num_workers = 2", "num_workers = {1, 3}")
    )
    assert attempts(rtrain) == [(1, "HEALED"), (2, "HEALED"), (3, "FINISHED")]
    found = ends(result)
    assert len(found) == 2 and found[0] == found[1] and found[0].startswith("12 steps "), found


def test_groups_of_some_ranks_and_wrapped_models_are_made_again(gpus):
    # The collectives of a wrapped model are simulated, its kernels are not.
    wrapped = "local wrapped = train.torch.prepare_model(torch.nn.Linear(3, 1))"
    groups = "local group = dist.new_group {ranks = {0, 1}}"
    step = (
        LOSE.format(rank=0, step=3)
        + """
      wrapped(torch.ones(1, 3):to 'cuda'):sum():backward()
      local sum = torch.full({1}, rank + 1):to 'cuda'
      dist.all_reduce(sum, 'sum', {group = group})
      assert(sum:item() == 3)
    """
    )
    result = gpus.run_ok(training(before=wrapped, at_start=groups, at_step=step))
    assert [end.split(" steps ")[0] for end in ends(result)] == ["12", "12"]
    assert attempts(gpus) == [(1, "HEALED"), (2, "FINISHED")]


def test_a_loss_that_nccl_notices_first_is_a_loss(gpus):
    gpus.env["FAKE_NCCL_SEES_DEATHS"] = "1"
    wanted = calm(gpus)
    pause = """
      if rank == 1 and state.step == 4 and files.once 'paused' then
        io.open('pause', 'w'):close()
        os.execute 'sleep 60'
      end
    """
    running = gpus.start("run", gpus.script(training(at_step=pause)))
    wait_until((gpus.folder / "pause").exists)
    os.kill(running.pid, signal.SIGSTOP)  # stops the controller
    os.kill(gpus.pids("healed")[1], signal.SIGKILL)
    time.sleep(0.5)
    os.kill(running.pid, signal.SIGCONT)
    assert running.wait().returncode == 0, running.stderr
    assert ends(running) == wanted
    assert attempts(gpus) == [(1, "HEALED"), (2, "FINISHED")]


def test_a_rank_that_is_lost_while_the_devices_connect_again(gpus):
    simulate_gpus(gpus, 3)
    wanted = ends(gpus.run_ok(training(), "--name", "calm", "-n", 3))
    gpus.env["FAKE_NCCL_KILL"] = str(gpus.folder / "kill")
    lose = "if rank == 1 and state.step == 4 and files.once 'lost' then os.execute 'touch kill; kill -9 $PPID' end"
    result = gpus.run_ok(training(at_step=lose), "-n", 3)
    assert len(wanted) == 3 and ends(result) == wanted
    assert attempts(gpus) == [(1, "HEALED"), (2, "HEALED"), (3, "FINISHED")]


def test_a_graph_with_an_optimizers_step_is_refused(gpus):
    graph = """
      local step = train.graph(function() optimizer:step() end)
      local optimizer = setmetatable({step = function() step() end}, {__index = optimizer})
      @STATE@
    """.replace("@STATE@", "")
    result = gpus.run_ok(training(at_start=graph))
    assert "leave the step out of the graph" in result.stderr + result.stdout


def test_train_loop_does_not_wait_for_the_gpu_in_each_step(gpus):
    result = gpus.run("""
      local torch, train = require 'torch', require 'rtrain'
      train.TorchTrainer {
        train_loop_per_worker = function()
          local rank = train.get_context():get_world_rank()
          train.loop {
            model = torch.nn.Linear(3, 1),
            optimizer = function(model) return torch.optim.SGD(model:parameters(), {lr = 0.1}) end,
            train_dataloader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 3))),
            training_step = function(model, batch, i)
              if rank == 1 and i == 2 then os.execute 'kill -9 $PPID' end
              return model(batch):sum()
            end,
            max_epochs = 1,
          }
        end,
        scaling_config = train.ScalingConfig {num_workers = 2, use_gpu = true},
        run_config = train.RunConfig {name = 'healed'},
      }:fit()""")
    assert result.returncode == 5, result.stderr
    assert [status for _, status in attempts(gpus)] == ["ERRORED"]
