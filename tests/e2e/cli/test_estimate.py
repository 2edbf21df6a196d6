"""rtrain check --memory: the memory that training needs, by dtype."""

import json

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
