"""Checkpoints on disk: complete, verifiable, retained by number and score."""

import pytest

import checker
from conftest import leftovers

PREAMBLE = """
local train = require 'rtrain'
local write = require('files').write
"""

FIT = """
train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'run', checkpoint_config = train.CheckpointConfig{@CONFIG@}},
}:fit()
"""


def fit(config=""):
    return FIT.replace("@CONFIG@", config)


def test_the_manifest_lists_every_file_of_every_rank(rtrain):
    result = rtrain.run_ok(
        PREAMBLE
        + """
        local function train_func()
          local rank = train.get_context():get_world_rank()
          train.tempdir(function(dir)
            os.execute('mkdir -p ' .. dir .. '/deep/er')
            write(dir .. '/rank-' .. rank, ('r'):rep(100000 + rank))
            write(dir .. '/deep/er/empty', '')
            write(dir .. '/common', 'by rank ' .. rank)
            train.report({loss = 0.5}, {checkpoint = train.Checkpoint.from_directory(dir), checkpoint_dir_name = 'mine'})
          end)
        end
        """
        + fit()
    )
    (row,) = rtrain.json("checkpoint", "ls", "run")
    directory = rtrain.run_folder("run") / "checkpoints" / "mine"
    assert row["name"] == "mine" and row["path"] == str(directory)
    assert row["latest"] and row["best"] and row["metrics"] == {"loss": 0.5}
    manifest = checker.verified_manifest(directory)
    assert [entry["path"] for entry in manifest["files"]] == sorted(["common", "deep/er/empty", "rank-0", "rank-1"])
    assert manifest["run"] == "run" and manifest["index"] == 0 and manifest["metrics"] == {"loss": 0.5}
    assert row["size_bytes"] == sum(entry["size_bytes"] for entry in manifest["files"])
    assert (directory / "common").read_text() == "by rank 0"
    assert "common" in result.stderr, "a warning that the ranks' files differ"
    assert leftovers(rtrain.run_folder("run") / "staging") == []


SCORED = (
    PREAMBLE
    + """
local function train_func()
  for i, accuracy in ipairs{0.1, 0.9, 0.3, 0.8, 0 / 0, 0.4} do
    train.tempdir(function(dir)
      write(dir .. '/file', tostring(i))
      train.report({accuracy = accuracy}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end
end
"""
)
SCORE = "checkpoint_score_attribute = 'accuracy', checkpoint_score_order = "


@pytest.mark.parametrize(
    "config, kept, best",
    [
        (f"num_to_keep = 2, {SCORE}'max'", [1, 3, 5], 1),
        (f"num_to_keep = 2, {SCORE}'min'", [0, 2, 5], 0),
        (f"num_to_keep = 1, {SCORE}'max'", [1, 5], 1),
        ("num_to_keep = 1", [5], 5),
        ("num_to_keep = 2", [4, 5], 5),
        ("", [0, 1, 2, 3, 4, 5], 5),
    ],
)
# behaviour: `num_to_keep = 1` by score
def test_retention_keeps_the_best_and_the_latest(rtrain, config, kept, best):
    rtrain.run_ok(SCORED + fit(config))
    rows = rtrain.json("checkpoint", "ls", "run")
    assert sorted(row["index"] for row in rows) == kept
    assert [row["index"] for row in rows if row["latest"]] == [5]
    if config:
        assert best in [row["index"] for row in rows if row["best"]]
    folder = rtrain.run_folder("run") / "checkpoints"
    assert sorted(path.name for path in folder.iterdir()) == sorted(row["name"] for row in rows)
    for row in rows:
        checker.verified_manifest(folder / row["name"])
    every = rtrain.json("checkpoint", "ls", "run", "--dropped")
    assert sorted(row["index"] for row in every) == [0, 1, 2, 3, 4, 5]
    assert sorted(row["index"] for row in every if row.get("kept", True)) == kept


def test_get_checkpoint_is_the_last_one_this_rank_attached(rtrain):
    rtrain.run_ok(
        PREAMBLE
        + """
        local function train_func()
          local seen = {tostring(train.get_checkpoint())}
          for epoch = 1, 2 do
            train.tempdir(function(dir)
              write(dir .. '/epoch', tostring(epoch))
              train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
            end)
            train.get_checkpoint():with_directory(function(dir)
              seen[#seen + 1] = io.open(dir .. '/epoch'):read('*a')
            end)
          end
          train.report{seen = seen}
        end
        """
        + fit("num_to_keep = 1")
    )
    assert rtrain.reports("run")[-1] == {"seen": ["nil", "1", "2"]}


def test_a_plain_folder_is_copied_and_stays_the_users(rtrain):
    rtrain.run_ok(
        PREAMBLE
        + """
        local function train_func()
          if train.get_context():get_world_rank() == 1 then return train.report{} end
          os.execute('mkdir mine && ln -s data mine/link')
          write('mine/data', 'before')
          train.report({}, {checkpoint = train.Checkpoint.from_directory('mine')})
          write('mine/data', 'after')
        end
        """
        + fit()
    )
    (row,) = rtrain.json("checkpoint", "ls", "run")
    directory = rtrain.run_folder("run") / "checkpoints" / row["name"]
    assert (directory / "data").read_text() == "before"
    assert (directory / "link").is_symlink()
    assert (rtrain.folder / "mine" / "data").read_text() == "after"


@pytest.mark.parametrize(
    "what, reason",
    [
        ("os.execute('mkfifo ' .. dir .. '/pipe')", "pipe"),
        ("os.execute('rm -r ' .. dir)", "No such file"),
        (r"write(dir .. '/caf\233.txt', 'x')", r"caf\xe9.txt is not UTF-8"),
        ("os.execute('ln -s /usr ' .. dir .. '/link')", "leads to /usr, which is not a file"),
    ],
)
def test_a_folder_that_cannot_be_a_checkpoint_is_an_error(rtrain, what, reason):
    result = rtrain.run(
        PREAMBLE
        + """
        local function train_func()
          train.tempdir(function(dir)
            @WHAT@
            train.report({}, {checkpoint = train.Checkpoint.from_directory(dir)})
          end)
        end
        """.replace("@WHAT@", what)
        + fit()
    )
    assert result.returncode != 0
    assert reason in result.stderr and "train.lua" in result.stderr
    assert rtrain.json("checkpoint", "ls", "run") == []
    assert leftovers(rtrain.run_folder("run") / "staging") == []


def test_a_name_used_twice_is_refused(rtrain):
    result = rtrain.run(
        PREAMBLE
        + """
        local function train_func()
          for epoch = 1, 2 do
            train.tempdir(function(dir)
              write(dir .. '/epoch', tostring(epoch))
              train.report({}, {checkpoint = train.Checkpoint.from_directory(dir), checkpoint_dir_name = 'same'})
            end)
          end
        end
        """
        + fit()
    )
    assert result.returncode != 0
    assert "same" in result.stderr
    directory = rtrain.run_folder("run") / "checkpoints" / "same"
    assert (directory / "epoch").read_text() == "1"
    checker.verified_manifest(directory)


def test_metadata_travels_with_the_checkpoint(rtrain):
    rtrain.run_ok(
        PREAMBLE
        + """
        local function train_func()
          train.tempdir(function(dir)
            write(dir .. '/file', 'x')
            local checkpoint = train.Checkpoint.from_directory(dir)
            checkpoint:set_metadata{classes = {'a', 'b'}}
            local ok, err = pcall(checkpoint.set_metadata, checkpoint, {text = ('x'):rep(3e6)})
            assert(not ok and err.message:find 'the metadata have 30000%d%d bytes, the limit is 524288', err.message)
            train.report({}, {checkpoint = checkpoint})
          end)
          train.report{metadata = train.get_checkpoint():get_metadata()}
        end
        """
        + fit()
    )
    assert rtrain.reports("run")[-1] == {"metadata": {"classes": ["a", "b"]}}
