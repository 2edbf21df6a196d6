"""A node with a slow link holds all ranks up alike: its rank is named, in random cases."""

import json
from random import Random

import pytest

from conftest import nightly, sample, wait_until
from node_scripts import GLOO

pytestmark = nightly

CASES = 20
# All ranks exchange gradients of some megabytes in each step, until the file `end` is there.
STEPS = """
local files, train = require 'files', require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function(config)
    local torch = require 'torch'
    local model = train.torch.prepare_model(torch.nn.Linear(config.columns, 512))
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-6})
    local x = torch.ones(2, config.columns)
    local last = torch.zeros(1)
    local step = 0
    while last:item() == 0 do
      step = step + 1
      optimizer:zero_grad()
      model(x):sum():backward()
      optimizer:step()
      if train.get_context():get_world_rank() == 0 and files.exists 'end' then last:fill_(1) end
      torch.distributed.broadcast(last, 0)
      train.report{step = step}
    end
  end,
  train_loop_config = {columns = 1024},
  TORCH
  scaling_config = train.ScalingConfig{num_workers = WORKERS},
  run_config = train.RunConfig{name = 'steps'},
}:fit()
"""


@pytest.fixture
def hosts(three_hosts):
    return three_hosts


def make_case(number):
    random = Random(number)
    return {
        "culprit": random.randrange(3),
        "columns": random.choice([512, 1024, 2048]),
        "kilobytes_a_second": random.choice([8000, 16000, 32000]),
        "ranks": random.choice([1, 1, 2]),  # of each node
        "torch": random.choice(["", GLOO]),
    }


def events(running):
    lines = [json.loads(line) for line in running.processes[0].stdout.splitlines()]
    return [line for line in lines if line["event"] == "straggler"]


@pytest.mark.parametrize("number", sample(*range(CASES)))
def test_the_rank_of_the_node_is_named(rtrain, job, hosts, number):
    case = make_case(number)
    script = STEPS.replace("WORKERS", str(3 * case["ranks"])).replace("TORCH", case["torch"])
    settings = ["--set", f"columns={case['columns']}", "--oversubscribe", "--json"]
    running = job("run", rtrain.script(script), *settings, nodes=(0, 1, 2), counts=(1, 1, 1))
    wait_until(lambda: rtrain.query("SELECT 1 FROM reports"), 60, "a step")
    hosts.limit(case["culprit"], case["kilobytes_a_second"])
    found = wait_until(lambda: events(running), 120, f"a rank is named: {case}")[0]
    assert (found["rank"], found["cause"]) == (case["culprit"] * case["ranks"], "link"), (found, case)
    assert found["text"].startswith("has a slow link to the other nodes: its data wait for it "), found
    hosts.limit(case["culprit"], None)
    wait_until(lambda: [each for each in events(running) if each["has_passed"]], 120, "it keeps up again")
    (rtrain.folder / "end").touch()
    for process in running.processes:
        assert process.wait(60).returncode == 0, process.stderr
    assert len(events(running)) == 2, events(running)
