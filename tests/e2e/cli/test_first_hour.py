"""Messages for two typos in a first script, compared word by word with golden/first_hour."""

import re

from conftest import SOURCE

GOLDEN = SOURCE / "tests" / "e2e" / "golden" / "first_hour"


def screen(result, script="train.lua"):
    """Returns the output without the parts that differ between runs: names of runs, times, folders."""
    text = re.sub(r"[^\s:]*" + re.escape(script), script, result.stderr)
    text = re.sub(r"train-\d{8}-[0-9a-f]{4}", "RUN", text)
    return re.sub(r"\d+\.\d+ s", "TIME", text)


def golden(name):
    return (GOLDEN / (name + ".txt")).read_text()


def test_a_command_that_is_misspelt(rtrain):
    result = rtrain("rnu", "train.lua")
    assert (result.returncode, result.stdout) == (2, "")
    assert screen(result) == golden("command")


def test_a_field_that_is_misspelt_starts_no_worker(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function() print 'started' end,
          scaling_config = train.ScalingConfig{num_worker = 2},
        }:fit()
    """)
    assert result.returncode == 3 and "started" not in result.stdout
    assert screen(result) == golden("field")


def test_a_function_that_is_misspelt_is_one_message_of_all_ranks(rtrain):
    result = rtrain.run("""
        local train, nn = require 'rtrain', require 'torch.nn'
        local function train_func() train.collective.barrier()  -- both workers run before the start line is printed
          local model = nn.Sequential(nn.Linaer(4, 8), nn.ReLU())
          return model
        end
        train.TorchTrainer{train_loop_per_worker = train_func, scaling_config = train.ScalingConfig{num_workers = 2}}:fit()
    """)
    assert result.returncode == 1
    assert screen(result) == golden("function")
