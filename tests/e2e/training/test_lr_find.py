"""rtrain check --lr: the learning rate at which the loss falls fastest, as PyTorch Lightning's lr_find chooses it."""

import json
import math
import re

import pytest

from conftest import leftovers, nightly
from test_terminal import OnTerminal

pytestmark = nightly

SCRIPT = """
    local torch = require 'torch'
    local train = require 'rtrain'
    local data, nn = torch.utils.data, torch.nn
    train.TorchTrainer{
      train_loop_per_worker = function(config)
        torch.manual_seed(1)
        local x = torch.randn(512, 8)
        local set = data.TensorDataset(x, x:sum(1, true))
        local loader = train.torch.prepare_data_loader(data.DataLoader(set, {batch_size = 16, shuffle = true}))
        local model = train.torch.prepare_model(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)))
        local optimizer = torch.optim.SGD({{params = model:parameters(), lr = 0.5}})
        for epoch = 1, config.epochs do
          for a, b in loader do
            optimizer:zero_grad()
            nn.functional.mse_loss(model(a), b):backward()
            optimizer:step()
          end
          train.report({lr = optimizer.param_groups[1].lr})
        end
      end,
      train_loop_config = {epochs = 50},
      scaling_config = train.ScalingConfig{num_workers = 2},
      run_config = train.RunConfig{name = 'real'},
    }:fit()
    """


def found(rtrain, *args, script=SCRIPT):
    result = rtrain("check", rtrain.script(script), "--lr", "--json", *args)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def steepest(losses):
    """Lightning's rule: the smallest slope of the averaged losses, without the first ten and the last one."""
    kept = losses[10:-1]
    slopes = [kept[1] - kept[0], *[(b - a) / 2 for a, b in zip(kept, kept[2:])], kept[-1] - kept[-2]]
    return 10 + slopes.index(min(slopes))


def averaged(losses):
    average, out = 0.0, []
    for i, loss in enumerate(losses, 1):
        average = 0.98 * average + 0.02 * loss
        out.append(average / (1 - 0.98**i))
    return out


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_suggestion_is_where_the_averaged_loss_falls_fastest(rtrain, workers):
    document = found(rtrain, "-n", workers, "--steps", "80", "--min-lr", "1e-5", "--max-lr", "10")
    steps = document["steps"]
    for i, step in enumerate(steps):
        assert step["lr"] == pytest.approx(1e-5 * 1e6 ** (i / 79))
    assert [step["smoothed"] for step in steps] == pytest.approx(averaged([step["loss"] for step in steps]))
    assert document["suggestion"] == steps[steepest([step["smoothed"] for step in steps])]["lr"]
    assert 1e-4 < document["suggestion"] < 10
    assert not rtrain.storage.exists() and leftovers(rtrain.temp) == []


def test_a_step_under_train_compile_gives_the_same_losses(rtrain):
    compiled = SCRIPT.replace("for epoch = 1", "local step = train.compile(function(a, b)\n STEP end)\nfor epoch = 1")
    body = SCRIPT[SCRIPT.index("optimizer:zero_grad()") : SCRIPT.index("          end\n          train.report")]
    compiled = compiled.replace(body, "step(a, b)\n").replace("STEP", body)
    arguments = ("--steps", "40", "--min-lr", "1e-5", "--max-lr", "1")
    assert found(rtrain, *arguments, script=compiled)["steps"] == found(rtrain, *arguments)["steps"]


def test_the_search_ends_where_training_diverges(rtrain):
    steps = found(rtrain, "--min-lr", "1e-4", "--max-lr", "1e4")["steps"]
    assert len(steps) < 100
    values = [step["smoothed"] for step in steps]
    assert all(math.isfinite(value) for value in values)
    assert values[-1] > 4 * min(values) or len(values) < 100


def test_groups_keep_their_ratio_and_schedules_do_not_matter(rtrain):
    grouped = SCRIPT.replace(
        "torch.optim.SGD({{params = model:parameters(), lr = 0.5}})",
        "torch.optim.SGD({{params = {model:parameters()[1]}, lr = 0.5}, {params = {model:parameters()[3]}, lr = 0.05}})",
    ).replace(
        "optimizer:step()",
        """optimizer:step()
            assert(math.abs(optimizer.param_groups[2].lr * 10 / optimizer.param_groups[1].lr - 1) < 1e-9)
            optimizer.param_groups[1].lr = 77""",
    )
    steps = found(rtrain, "-n", "0", "--steps", "20", script=grouped)["steps"]
    assert steps[-1]["lr"] == pytest.approx(1)


def test_a_terminal_shows_the_steps(rtrain):
    output = OnTerminal(rtrain, "check", rtrain.script(SCRIPT), "--lr", "--steps", "60").end().decode()
    assert re.search(r"step +\d+/60  ━", output), output
    assert "RUNNING" not in output and "report 0" not in output, "it is not a run"


def test_what_a_person_reads(rtrain):
    result = rtrain("check", rtrain.script(SCRIPT), "--lr", "-n", "0", "--max-lr", "10", "-o", "lr.svg")
    assert result.returncode == 0, result.stderr
    assert "the loss falls fastest at a learning rate of " in result.stdout.splitlines()[-1]
    assert "learning rate" in (rtrain.folder / "lr.svg").read_text()


@pytest.mark.parametrize(
    "change, args, code, words",
    [
        (("epochs = 50", "epochs = 1"), ["--batches", "3"], 2, ["--lr", "excludes", "--batches"]),
        (("epochs = 50", "epochs = 1"), ["--memory", "80"], 2, ["--memory", "excludes", "--lr"]),
        (("epochs = 50", "epochs = 0"), [], 1, ["no optimizer made a step"]),
        (("batch_size = 16", "batch_size = 256"), ["--set", "epochs=4"], 1, ["made 8 steps", "more epochs"]),
        (("mse_loss(model(a), b)", "mse_loss(model(a) * 0 + 1, b * 0)"), [], 1, ["the loss falls at none", "--max-lr"]),
        (("real", "real"), ["--min-lr", "1", "--max-lr", "0.1"], 2, ["--min-lr 1 is not below --max-lr 0.1"]),
        (("real", "real"), ["-o", "lr.gif"], 2, [".svg or .png"]),
        ((":backward()", ":backwards()"), [], 1, ["backwards"]),
    ],
)
def test_what_does_not_work(rtrain, change, args, code, words):
    result = rtrain("check", rtrain.script(SCRIPT.replace(*change)), "--lr", "-n", "0", *args)
    assert result.returncode == code and result.stdout == "", result.stderr
    for word in words:
        assert word in result.stderr
    assert leftovers(rtrain.temp) == []


@pytest.mark.parametrize("option", [["--steps", "30"], ["--min-lr", "1"], ["--max-lr", "1"], ["-o", "lr.svg"]])
def test_options_of_the_search_need_lr(rtrain, option):
    result = rtrain("check", rtrain.script(SCRIPT), *option)
    name = "--output" if option[0] == "-o" else option[0]
    assert result.returncode == 2 and f"{name} requires --lr" in result.stderr, result.stderr
