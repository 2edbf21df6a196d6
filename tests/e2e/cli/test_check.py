"""rtrain check: tries a script on every rank without recording a run."""

import json
import re

import pytest

from conftest import SOURCE, leftovers
from test_documents import fences

# A network with known numbers of parameters and shapes: Conv2d 8*(9+1), Linear 1352*10+10.
SCRIPT = """
    local torch = require 'torch'
    local train = require 'rtrain'
    local data, nn = torch.utils.data, torch.nn
    print 'said by the script'
    local result = train.TorchTrainer{
      train_loop_per_worker = function(config)
        local set = data.TensorDataset(torch.rand(96, 1, 28, 28), torch.zeros(96, {dtype = 'int64'}))
        local loader = train.torch.prepare_data_loader(data.DataLoader(set, {batch_size = 8}))
        local model = train.torch.prepare_model(nn.Sequential(
          nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1352, 10)))
        local optimizer = torch.optim.SGD(model:parameters(), {lr = config.lr, momentum = 0.9})
        for epoch = 1, 50 do
          for x, y in loader do
            optimizer:zero_grad()
            nn.functional.cross_entropy(model(x), y):backward()
            optimizer:step()
          end
          train.tempdir(function(dir)
            torch.save({epoch = epoch}, dir .. '/state.pt')
            train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
          end)
        end
      end,
      train_loop_config = {lr = 0.1},
      scaling_config = train.ScalingConfig{num_workers = 2},
      run_config = train.RunConfig{name = 'real', failure_config = train.FailureConfig{max_failures = 3}},
    }:fit()
    print('epoch ' .. result.metrics.epoch)
    """

NUMBERS = 8 * 10 + 16 + 1352 * 10 + 10


def checked(rtrain, *args):
    result = rtrain("check", rtrain.script(SCRIPT), "--json", *args)
    assert result.returncode == 0, result.stderr
    assert "said by the script" in result.stderr
    return json.loads(result.stdout), result


def test_the_model_has_its_shapes_and_parameters(rtrain):
    document, _ = checked(rtrain)
    model = document["model"]
    assert model["class"] == "Sequential" and model["parameters"] == model["trainable"] == NUMBERS
    assert [
        (layer["name"], layer["class"], layer["output_shape"], layer["parameters"]) for layer in model["layers"]
    ] == [
        ("", "Sequential", [8, 10], 0),
        ("0", "Conv2d", [8, 8, 26, 26], 80),
        ("1", "BatchNorm2d", [8, 8, 26, 26], 16),
        ("2", "MaxPool2d", [8, 8, 13, 13], 0),
        ("3", "Flatten", [8, 1352], 0),
        ("4", "Linear", [8, 10], 13530),
    ]


def test_a_model_that_returns_its_loss_has_the_shape_of_a_scalar(rtrain):
    script = rtrain.script("""
        local nn, train, torch = require 'torch.nn', require 'rtrain', require 'torch'
        local Loss = nn.Module:extend 'Loss'
        function Loss:init() self.layer = nn.Linear(2, 1) end
        function Loss:forward(x) return self.layer(x):mean() end
        train.TorchTrainer{train_loop_per_worker = function()
          local model = train.torch.prepare_model(Loss())
          local set = torch.utils.data.TensorDataset(torch.rand(8, 2))
          for x in torch.utils.data.DataLoader(set, {batch_size = 2}) do model(x):backward() end
        end}:fit()
        """)
    result = rtrain("check", script, "--json")
    assert result.returncode == 0, result.stderr
    layers = json.loads(result.stdout)["model"]["layers"]
    assert [(layer["class"], layer["output_shape"]) for layer in layers] == [("Loss", []), ("Linear", [2, 1])]
    assert "(model)  Loss    ()" in rtrain("check", script).stdout


def test_memory_is_counted(rtrain):
    memory = checked(rtrain)[0]["memory"]
    outputs = 8 * (2 * 8 * 26 * 26 + 2 * 8 * 13 * 13 + 10)
    assert memory == {
        "parameters": 4 * NUMBERS,
        "gradients": 4 * NUMBERS,
        "optimizer": 4 * NUMBERS,
        "buffers": 4 * 16 + 8,
        "activations": 4 * outputs,
    }


@pytest.mark.parametrize("workers", ["0", "1", "2"])
@pytest.mark.parametrize("batches", [1, 2])
def test_every_rank_has_its_batches_forward_and_backward(rtrain, workers, batches):
    document, result = checked(rtrain, "-n", workers, "--batches", str(batches))
    assert document["num_workers"] == len(document["ranks"]) == max(int(workers), 1)
    for number, rank in enumerate(document["ranks"]):
        # The check ends at the report of that number; the script reports after each epoch.
        assert rank["rank"] == number and rank["device"] == "cpu" and rank["peak_bytes"] > 0
        assert rank["batches"] == rank["forward"] == rank["backward"] == batches * batches
    assert f"epoch {batches}" in result.stderr, "the script goes on as after a run"


def test_no_run_is_recorded(rtrain):
    checked(rtrain)
    assert not rtrain.storage.exists() and leftovers(rtrain.temp) == []


def test_what_a_person_reads(rtrain):
    rtrain.script(SCRIPT)
    result = rtrain("check", "train.lua")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "train.lua works: 2 ranks, loops of at most 2 batches"
    assert "4        Linear       (8, 10)              13530" in lines
    assert f"{NUMBERS} parameters, {NUMBERS} of them trained" in lines


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_a_loop_without_a_loader_is_measured_by_steps(rtrain, batches):
    """The first script of the README keeps all its data in one tensor."""
    (_, text) = next(fence for fence in fences(SOURCE / "README.md") if fence[0] == "lua")
    result = rtrain(
        "check",
        rtrain.script(text.split("local line =")[0].replace("epochs = 4", "epochs = 1000000")),
        "--json",
        "--batches",
        batches,
    )
    assert result.returncode == 0, result.stderr
    for rank in json.loads(result.stdout)["ranks"]:
        assert rank["batches"] == batches and rank["forward"] == rank["backward"] == batches
    assert not rtrain.storage.exists() and leftovers(rtrain.temp) == []


def train_function(body):
    return f"""
    local train = require 'rtrain'
    train.TorchTrainer{{train_loop_per_worker = function() {body} end}}:fit()
    """


@pytest.mark.parametrize(
    "script, code, words",
    [
        ("local x = = 1", 1, ["train.lua:1", "="]),
        ("require('rtrain').ScalingConfig{num_worker = 2}", 3, ["num_worker", "num_workers"]),
        ("local x = 1", 1, ["ended without a call of fit()"]),
        (
            train_function("train.report{a = 1}"),
            1,
            ["no loader in the train function", "DataLoader", "get_dataset_shard"],
        ),
        (train_function("error 'broken'"), 1, ["broken"]),
    ],
)
def test_what_does_not_work(rtrain, script, code, words):
    result = rtrain("check", rtrain.script(script))
    assert result.returncode == code and result.stdout == "", result.stderr
    for word in words:
        assert word in result.stderr
    assert not rtrain.storage.exists() and leftovers(rtrain.temp) == []


def test_a_loader_that_does_not_come(rtrain):
    endless = train_function("while true do os.execute 'sleep 0.02' end")
    result = rtrain("check", rtrain.script(endless), "--wait", "1")
    assert result.returncode == 6 and "no loader within 1 s" in result.stderr, result.stderr
    assert "looked for a loop over a DataLoader" in result.stderr
    assert leftovers(rtrain.temp) == []


def test_an_assignment_whose_order_is_lost_is_warned_of(rtrain):
    """A module knows the written order, an ordered map does not, nor a class that stores in functions of its own."""
    script = rtrain.script(
        """local torch, train, ordered = require 'torch', require 'rtrain', require 'base.ordered'
        local nn = torch.nn
        local Own, Net = nn.Module:extend 'Own', nn.Module:extend 'Net'
        local function register(self, name, value) nn.Module.__newindex(self, name, value) return true end
        function Own.__newindex(self, name, value) register(self, name, value) end
        function Own:init()
          self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
        end
        function Net:init() self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2) end
        local sizes = ordered.new()
        sizes.width, sizes.depth = 1, 2
        train.TorchTrainer{train_loop_per_worker = function()
          local fields = ordered.new()
          for i = 1, 2 do
            fields['x' .. i], fields['y' .. i] = 1, 2
          end
          fields.z = 1
          fields.a = 2
          local model = train.torch.prepare_model(nn.Sequential(Own().first, Net().second))
          local set = torch.utils.data.TensorDataset(torch.rand(4, 2))
          for x in torch.utils.data.DataLoader(set, {batch_size = 2}) do model(x):sum():backward() end
        end, scaling_config = train.ScalingConfig{num_workers = 2}}:fit()"""
    )
    result = rtrain("check", script)
    assert result.returncode == 0, result.stderr
    told = "warning: this assignment adds '{1}' before '{0}', since Lua stores from right to left; in Python '{0}' is first"
    lines = [re.sub(r"\S*train.lua", "train.lua", line) for line in result.stderr.splitlines() if "warning" in line]
    assert lines == [
        f"{rank}train.lua:{line}: {told.format(*names)}: give each a line of its own"
        for rank, line, names in [
            ("", 11, ("width", "depth")),
            ("[rank 0] ", 15, ("x1", "y1")),
            ("[rank 0] ", 7, ("first", "second")),
        ]
    ], result.stderr
    run = rtrain("run", script)
    assert run.returncode == 0 and "this assignment" not in run.stderr, run.stderr
