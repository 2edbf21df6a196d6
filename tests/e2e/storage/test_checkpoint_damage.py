"""Checkpoints that were damaged outside of rtrain: the file is named, and the previous checkpoint is used instead."""

import json
import shutil
import sqlite3

import pytest

from conftest import nightly
from test_resume import COUNTING

pytestmark = nightly

# Each attempt prints where it starts; the first attempt ends with an error after three checkpoints.
SCRIPT = """
local epochs, train = require 'epochs', require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function(config)
    local start = epochs.of(train.get_checkpoint())
    train.report{start = start}
    for epoch = start + 1, 3 do epochs.save(epoch) end
    if start == 0 then
      os.execute(config.damage)
      error('half way')
    end
  end,
  train_loop_config = {damage = '@DAMAGE@'},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'run', resume = 'auto', failure_config = {max_failures = @FAILURES@}},
}:fit()
"""

DAMAGES = {
    "bit_flip": ("printf 9 > storage/run/checkpoints/checkpoint_000003/epoch", "its hash is"),
    "truncated_manifest": (
        "truncate -s 100 storage/run/checkpoints/checkpoint_000003/.rtrain-checkpoint.json",
        "damaged",
    ),
    "empty_file": ("truncate -s 0 storage/run/checkpoints/checkpoint_000003/epoch", "0 bytes, the manifest says 1"),
    "deleted": ("rm -r storage/run/checkpoints/checkpoint_000003", ""),
}


def script(damage="true", failures=0):
    return SCRIPT.replace("@DAMAGE@", damage).replace("@FAILURES@", str(failures))


def starts(rtrain):
    return [row["start"] for row in rtrain.reports("run", "--all") if "start" in row]


# fault: bit flip
# fault: truncated manifest
# fault: a checkpoint deleted behind our back
@pytest.mark.parametrize("name", DAMAGES)
def test_a_resumed_run_takes_the_checkpoint_before(rtrain, name):
    damage, reason = DAMAGES[name]
    assert rtrain.run(script(damage)).returncode == 1
    result = rtrain.run_ok(script(), "--resume", "must")
    assert starts(rtrain)[-1] == 2
    assert "checkpoint_000003" in result.stderr and reason in result.stderr
    rows = {row["index"]: row for row in rtrain.json("checkpoint", "ls", "run", "--dropped")}
    assert not rows[3]["kept"] and rows[3]["problem"]


MANIFEST_DAMAGES = {
    "emptied": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "flipped": lambda path: path.write_bytes(path.read_bytes().replace(b'"name"', b'"nam3"')),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("how", MANIFEST_DAMAGES)
def test_a_damaged_manifest_does_not_keep_a_run_from_going_on(rtrain, how):
    assert rtrain("run", rtrain.script(COUNTING), "--set", "fail_at=4").returncode == 1
    newest = rtrain.run_folder("run") / "checkpoints" / "checkpoint_000003"
    MANIFEST_DAMAGES[how](newest / ".rtrain-checkpoint.json")
    gone_on = rtrain("run", rtrain.script(COUNTING), "--resume", "auto", "--set", "epochs=5")
    assert gone_on.returncode == 0, gone_on.stderr
    assert "rows\t1 2 3 4 5" in gone_on.stdout and "checkpoint\tcheckpoint_000004" in gone_on.stdout
    assert f"moved to {rtrain.run_folder('run')}/damaged/checkpoint_000003" in gone_on.stderr
    assert (rtrain.run_folder("run") / "damaged" / "checkpoint_000003" / "epoch").read_text() == "4"
    again = rtrain("run", rtrain.script(COUNTING), "--resume", "auto", "--set", "epochs=6")
    assert again.returncode == 0 and "cannot be used" not in again.stderr, "it is said once"
    assert [row["index"] for row in rtrain.json("checkpoint", "ls", "run", "--dropped") if row.get("problem")] == [3]


def test_a_manifest_that_is_damaged_within_the_run_is_survived_by_a_retry(rtrain):
    result = rtrain(
        "run",
        rtrain.script(
            COUNTING.replace(
                "if epoch == config.fail_at then",
                """
    if epoch == config.fail_at and first == 1 and rank == 0 then
      files.write('storage/run/checkpoints/checkpoint_000002/.rtrain-checkpoint.json', '')""",
            )
        ),
        "--set",
        "fail_at=3",
        "--max-failures",
        "1",
    )
    assert result.returncode == 0, result.stderr
    assert "rows\t1 2 3 4" in result.stdout
    assert [row["index"] for row in rtrain.json("checkpoint", "ls", "run")] == [2, 3]


# fault: bit flip
def test_the_reader_finds_the_damage_within_a_run(rtrain):
    result = rtrain.run_ok(script(DAMAGES["bit_flip"][0], failures=2))
    assert starts(rtrain)[-1] == 2
    assert "checkpoint_000003/epoch is damaged" in result.stderr


# fault: read error in a checkpoint
def test_files_that_cannot_be_read_are_passed_over(rtrain):
    rtrain.run(script())
    rtrain.fail_calls("read|pread:1+:EIO:path=checkpoint_000003/epoch:controller")
    result = rtrain.run_ok(script(), "--resume", "must")
    assert starts(rtrain)[-1] == 2
    assert "checkpoint_000003/epoch: Input/output error" in result.stderr


def test_results_name_the_damaged_file(rtrain):
    rtrain.run(script("printf 9 > storage/run/checkpoints/checkpoint_000003/epoch"))
    result = rtrain(
        "exec",
        rtrain.script(f"""
        local train = require 'rtrain'
        local result = train.Result.from_path('{rtrain.run_folder("run")}')
        local ok, err = pcall(result.checkpoint.with_directory, result.checkpoint, print)
        print(ok, err.code, err.message)
        """),
    )
    assert result.stdout.startswith("false\tcheckpoint\t") and "checkpoint_000003/epoch" in result.stdout


def from_path(rtrain, path):
    result = rtrain(
        "exec",
        rtrain.script(
            f"""
        local ok, err = pcall(require('rtrain').Result.from_path, '{path}')
        print(ok, err.code, err.message)
        """,
            "from_path.lua",
        ),
    )
    ok, code, message = result.stdout.rstrip("\n").split("\t")
    assert ok == "false"
    return code, message


# behaviour: `Result.from_path`: two kinds of missing
def test_a_missing_folder_and_one_without_a_registry_are_two_errors(rtrain):
    assert from_path(rtrain, rtrain.folder / "nowhere") == (
        "not_found",
        f"Result.from_path: there is no folder {rtrain.folder / 'nowhere'}",
    )
    (rtrain.folder / "empty").mkdir()
    code, message = from_path(rtrain, rtrain.folder / "empty")
    assert code == "usage" and "no registry of runs" in message
    rtrain.run_ok(
        "local train = require 'rtrain' train.TorchTrainer(function() train.report{} end):fit()", "--name", "run"
    )
    (rtrain.storage / "other").mkdir()
    code, message = from_path(rtrain, rtrain.storage / "other")
    assert code == "usage" and "no run 'other'" in message


# behaviour: three kinds of unreadable registry
def test_damaged_foreign_and_unknown_registries_are_told_apart(rtrain):
    rtrain.storage.mkdir()
    (rtrain.storage / "run").mkdir()
    path = rtrain.storage / "rtrain.db"
    messages = set()
    script_text = "local train = require 'rtrain' train.TorchTrainer(function() train.report{} end):fit()"

    def refused(reason, reads=False):
        if not reads:
            code, message = from_path(rtrain, rtrain.storage / "run")
            assert code == "environment" and reason in message and str(path) in message
        before = path.read_bytes()
        result = rtrain.run(script_text, "--name", "new")
        assert result.returncode == 4 and reason in result.stderr
        messages.add(result.stderr)
        assert path.read_bytes() == before, "nothing was written"

    path.write_bytes(b"no database at all" * 1000)
    refused("is damaged")
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bookmarks(url)")
    db.close()
    refused("another program")
    path.unlink()
    rtrain.run_ok(script_text, "--name", "run2")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    refused("schema version 99", reads=True)
    assert len(messages) == 3


# behaviour: `to_directory`
# behaviour: `with_directory` gives the folder itself
# behaviour: metadata
def test_a_checkpoint_as_a_folder(rtrain):
    result = rtrain(
        "exec",
        rtrain.script("""
        local train = require 'rtrain'
        os.execute('mkdir mine && touch mine/file')
        local checkpoint = train.Checkpoint.from_directory('mine')
        local copy = checkpoint:to_directory()
        print(copy:match '[^/]*$', io.open(copy .. '/file') ~= nil,
          checkpoint:to_directory('here') == checkpoint.path:gsub('mine$', 'here'))
        os.execute('rm -r ' .. copy)
        print(checkpoint:with_directory(function(dir) return dir end) == checkpoint.path, io.open('mine/file') ~= nil)
        print(next(checkpoint:get_metadata()))
        checkpoint:set_metadata{a = 1, b = 2}
        checkpoint:update_metadata{b = 3}
        print(checkpoint:get_metadata().a, checkpoint:get_metadata().b)
        checkpoint:set_metadata{c = 4}
        print(checkpoint:get_metadata().a, checkpoint:get_metadata().c)
        """),
    )
    assert result.returncode == 0, result.stderr
    first, *rest = result.stdout.splitlines()
    assert first.startswith("checkpoint_tmp_") and first.endswith("true\ttrue")
    assert rest == ["true\ttrue", "nil", "1\t3", "nil\t4"]


# behaviour: temporary folders of remote storage
def test_a_checkpoint_of_a_filesystem_is_a_copy_that_goes(rtrain):
    (rtrain.folder / "remote" / "c").mkdir(parents=True)
    (rtrain.folder / "remote" / "c" / "file").write_text("far")
    result = rtrain(
        "exec",
        rtrain.script("""
        local train = require 'rtrain'
        local fs = {get = function(remote, path) os.execute(('cp -r remote/%s/. %s'):format(remote, path)) end}
        local checkpoint = train.Checkpoint('c', {filesystem = fs})
        local folder
        print(checkpoint:with_directory(function(dir)
          folder = dir
          return io.open(dir .. '/file'):read('*a')
        end))
        print(io.open(folder))
        print(select(2, pcall(train.Checkpoint, 'c', {filesystem = {got = print}})).message)
        """),
    )
    lines = result.stdout.splitlines()
    assert lines[0] == "far" and lines[1].startswith("nil")
    assert "unknown function 'got'" in lines[2]


def test_a_run_whose_folder_was_copied_elsewhere_keeps_its_checkpoints(rtrain):
    rtrain.run(script())
    manifest = json.loads(
        (rtrain.run_folder("run") / "checkpoints" / "checkpoint_000001" / ".rtrain-checkpoint.json").read_text()
    )
    shutil.move(rtrain.storage, rtrain.folder / "moved")
    rows = rtrain.json("checkpoint", "ls", "run", "--storage", rtrain.folder / "moved")
    assert [row["index"] for row in rows] == [1, 2, 3] and manifest["checkpoint"]["index"] == 1
    for row in rows:
        assert row["path"].startswith(str(rtrain.folder / "moved"))
