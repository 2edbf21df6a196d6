"""A storage folder or a run's name that cannot be taken, and full disks."""

import re

import pytest

from conftest import leftovers

TRIVIAL = """
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function() train.report{ok = true} end,
  scaling_config = train.ScalingConfig{num_workers = 1},
}:fit()
"""


def test_storage_below_a_file_is_exit_4_with_the_path(rtrain):
    (rtrain.folder / "file").write_text("")
    path = rtrain.folder / "file" / "results"
    result = rtrain.run(TRIVIAL, "--storage", path)
    assert result.returncode == 4
    assert str(path) in result.stderr


def test_a_taken_name_is_refused_with_the_ways_out(rtrain):
    rtrain.run_ok(TRIVIAL, "--name", "taken")
    result = rtrain.run(TRIVIAL, "--name", "taken")
    assert result.returncode == 3
    assert "taken" in result.stderr and "resume" in result.stderr
    assert len(rtrain.json("ls")) == 1
    assert rtrain.reports("taken") == [{"ok": True}]


def test_a_disk_that_is_full_at_the_start(rtrain, small_disk):
    disk = small_disk("16k")
    result = rtrain.run(TRIVIAL, "--storage", disk)
    assert result.returncode == 4
    assert str(disk) in result.stderr


CHECKPOINT_OF_8_MB = """
local torch = require 'torch'
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local state = {weight = torch.zeros(2000000)}
    @SAVE@
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'large'},
}:fit()
"""
FROM_THE_STORAGE = """train.tempdir(function(dir)
      torch.save(state, dir .. '/state.pt')
      train.report({}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)"""
FROM_ANOTHER_DISK = """os.execute('mkdir -p mine')
    if train.get_context():get_world_rank() == 0 then
      torch.save(state, 'mine/state.pt')
      train.report({}, {checkpoint = train.Checkpoint.from_directory('mine')})
    else
      train.report{}
    end"""


# fault: disk full while a checkpoint is written
@pytest.mark.parametrize("save", [FROM_THE_STORAGE, FROM_ANOTHER_DISK], ids=["tempdir", "copied"])
def test_a_disk_too_small_for_the_checkpoint(rtrain, small_disk, save):
    disk = small_disk("4m")
    rtrain.env["RTRAIN_STORE_PATIENCE_S"] = "1"
    result = rtrain.run(CHECKPOINT_OF_8_MB.replace("@SAVE@", save), "--storage", disk)
    assert result.returncode == 4, result.stderr
    # Either process may hit the full disk first: the worker with its file, or the controller with its database.
    assert str(disk) in result.stderr and re.search("No space left|is full", result.stderr), result.stderr
    assert rtrain.json("checkpoint", "ls", "large", "--storage", disk) == []
    assert rtrain.json("show", "large", "--storage", disk)["status"] == "ERRORED"
    assert leftovers(disk / "large" / "staging") == []


# fault: disk full for the database
def test_a_disk_that_stays_full_of_reports(rtrain, small_disk):
    disk = small_disk("2m")
    rtrain.env["RTRAIN_STORE_PATIENCE_S"] = "1"
    result = rtrain.run(
        """
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local text = ('x'):rep(100000)
            for i = 1, 500 do train.report{text = text} end
          end,
          scaling_config = train.ScalingConfig{num_workers = 1},
        }:fit()
        """,
        "--storage",
        disk,
    )
    assert result.returncode == 4, result.stderr
    assert str(disk) in result.stderr
