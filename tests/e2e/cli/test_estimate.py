"""rtrain check --memory: the memory that training needs, by dtype."""

import json
import re

import pytest

from conftest import leftovers
from test_check import NUMBERS, SCRIPT

OUTPUTS = 8 * (2 * 8 * 26 * 26 + 2 * 8 * 13 * 13 + 10)  # elements of the layers' outputs for a batch of 8


def estimated(rtrain, memory_gb):
    result = rtrain("check", rtrain.script(SCRIPT), "--json", "--memory", memory_gb)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_rows_follow_from_what_was_measured(rtrain):
    document = estimated(rtrain, 80)
    assert (document["model"], document["parameters"], document["batch_size"], document["dtype"]) == (
        "Sequential",
        NUMBERS,
        8,
        "float32",
    )
    rows = {row["dtype"]: row for row in document["rows"]}
    buffers = 4 * 16 + 8
    full = rows["float32"]
    assert [full[part] for part in ("parameters", "gradients", "optimizer", "buffers", "activations")] == [
        4 * NUMBERS,
        4 * NUMBERS,
        4 * NUMBERS,
        buffers,
        4 * OUTPUTS,
    ]
    assert full["total"] == 12 * NUMBERS + buffers + 4 * OUTPUTS
    mixed = rows["float32, autocast"]
    assert (mixed["parameters"], mixed["gradients"], mixed["activations"]) == (6 * NUMBERS, 4 * NUMBERS, 2 * OUTPUTS)
    assert rows["bfloat16"]["total"] == full["total"] // 2
    assert not rtrain.storage.exists() and leftovers(rtrain.temp) == []


def test_the_largest_batch_that_fits(rtrain):
    row = estimated(rtrain, 1)["rows"][0]
    per_sample = row["activations"] / 8
    fixed = row["total"] - row["activations"]
    assert row["largest_batch"] == int((1e9 - fixed) / per_sample)
    assert fixed + row["largest_batch"] * per_sample <= 1e9 < fixed + (row["largest_batch"] + 1) * per_sample
    assert next(row["largest_batch"] for row in estimated(rtrain, 0.001)["rows"]) == int((1e6 - fixed) / per_sample)


def test_what_a_person_reads(rtrain):
    result = rtrain("check", rtrain.script(SCRIPT), "--memory", "80")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == f"Sequential, {NUMBERS} parameters, batches of 8 on each rank"
    assert "LARGEST BATCH" in lines[2] and lines[4].startswith("float32, autocast")


def test_a_script_without_a_model_is_told(rtrain):
    result = rtrain(
        "check",
        "--memory",
        "80",
        rtrain.script("""
        local train, torch = require 'rtrain', require 'torch'
        train.TorchTrainer{train_loop_per_worker = function()
          for x in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(4, 1)), {batch_size = 2}) do end
        end}:fit()"""),
    )
    assert result.returncode == 1 and "gave no model to train.torch.prepare_model" in result.stderr


DIVIDED = """
local torch, train = require 'torch', require 'rtrain'
local nn = torch.nn
train.TorchTrainer{
  train_loop_per_worker = function(config)
    local net = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 255))
    local model = train.torch.prepare_model(net, {
      parallel_strategy = config.strategy, parallel_strategy_kwargs = config.strategy == 'fsdp' and {wrap = nn.Linear} or nil,
    })
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1, momentum = 0.9})
    while true do
      optimizer:zero_grad()
      model(torch.randn(8, 256)):pow(2):mean():backward()
      optimizer:step()
    end
  end,
  train_loop_config = {strategy = 'ddp'},
  scaling_config = train.ScalingConfig{num_workers = 3},
}:fit()
"""
ELEMENTS = (256 + 255) * 257


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_what_each_strategy_divides(rtrain, strategy):
    path = rtrain.script(DIVIDED)
    options = ("--memory", "0.00107", "--set", f"strategy={strategy}")
    result = rtrain("check", path, "--json", *options)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["parameters"], document["num_workers"]) == (ELEMENTS, 3)
    # Parameters, gradients, and what SGD keeps with momentum; the outputs of the layers.
    part, outputs = 4 * ELEMENTS, 4 * 8 * (256 + 256 + 255)
    found = {row["strategy"]: (row["total"], row.get("least_workers")) for row in document["strategies"]}
    assert found == {"ddp": (3 * part + outputs, None), "fsdp": (part + outputs, 2)}
    # The rows by dtype are of a worker of the script as it is: the first one has 86 of 256 rows and 85 of 255.
    rows = part if strategy == "ddp" else 4 * (86 + 85) * 257
    assert document["rows"][0]["parameters"] == document["rows"][0]["optimizer"] == rows
    result = rtrain("check", path, "--json", "--set", f"strategy={strategy}")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["model"]["parameters"] == document["model"]["trainable"] == ELEMENTS
    assert [layer["output_shape"] for layer in document["model"]["layers"]] == [[8, 255], [8, 256], [8, 256], [8, 255]]
    # It ends before the third step, whose passes are made.
    assert [(rank["forward"], rank["backward"]) for rank in document["ranks"]] == [(3, 3)] * 3


def test_a_person_reads_which_strategy_fits(rtrain):
    result = rtrain("check", rtrain.script(DIVIDED), "--memory", "0.00107")
    assert result.returncode == 0, result.stderr
    lines = [re.split("  +", line) for line in result.stdout.splitlines()]
    assert ["ddp", "parameters + gradients + optimizer", "1.6 MB", "none"] in lines
    assert ["fsdp", "(parameters + gradients + optimizer) / N", "549.9 kB", "2 or more"] in lines
