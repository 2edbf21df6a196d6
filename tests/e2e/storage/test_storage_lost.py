"""A storage folder or a store that disappears while a run writes to it, and a disk that is full for a while."""

import contextlib
import shutil
import sqlite3

import pytest

from conftest import leftovers, wait_until

# Saves one epoch after the other until the file `enough` exists, and prints each epoch to its log.
SAVING = """
local epochs, files, train = require 'epochs', require 'files', require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    os.execute 'mkdir -p source'
    local epoch = epochs.of(train.get_checkpoint())
    repeat
      epoch = epoch + 1
      print('epoch ' .. epoch)
      files.write('source/epoch', tostring(epoch))
      train.tempdir(function() end)
      train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory 'source'})
      os.execute('sleep 0.02')
    until files.exists 'enough'
  end,
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{name = 'saving', checkpoint_config = {num_to_keep = 2}},
}:fit()
"""

# Prints output but never reports.
PRINTING = """
local files, train = require 'files', require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local i = 0
    repeat
      i = i + 1
      print('line ' .. i .. ('.'):rep(200))
      os.execute('sleep 0.005')
    until files.exists 'enough'
    print('the end')
  end,
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{name = 'printing'},
}:fit()
"""


def enough(rtrain):
    (rtrain.folder / "enough").touch()


def test_a_storage_that_is_moved_ends_the_run_and_is_gone_on_with_there(rtrain):
    running = rtrain.started("run", rtrain.script(SAVING), reports=3)
    moved = rtrain.folder / "moved"
    rtrain.storage.rename(moved)
    result = running.wait()
    assert result.returncode == 4, result.stderr
    assert f"was moved to {moved}/saving, where its checkpoints are" in result.stderr, result.stderr
    assert not rtrain.storage.exists(), "no second folder in the old place"
    enough(rtrain)
    again = rtrain("run", rtrain.script(SAVING), "--storage", moved, "--resume", "auto")
    assert again.returncode == 0, again.stderr
    show = rtrain.json("show", "saving", "--storage", moved)
    assert show["status"] == "FINISHED" and len(show["attempts"]) == 2
    epochs = [row["metrics"]["epoch"] for row in rtrain.json("metrics", "saving", "--storage", moved)]
    assert epochs == list(range(1, len(epochs) + 1))


def test_a_storage_that_is_removed_ends_the_run(rtrain):
    running = rtrain.started(
        "run", rtrain.script(PRINTING.replace("print('line '", "train.report{i = i} print('line '"))
    )
    while rtrain.storage.exists():  # the run may write to the folder while it is removed
        shutil.rmtree(rtrain.storage, ignore_errors=True)
    result = running.wait()
    assert result.returncode == 4, result.stderr
    assert f"the run's folder {rtrain.run_folder('printing')} was removed, with its checkpoints" in result.stderr
    assert not rtrain.storage.exists()


@pytest.mark.parametrize("parts", ["rtrain.db", "rtrain.db*", "rtrain.db-*"])
def test_a_store_that_is_removed_is_written_again(rtrain, parts):
    rtrain.run_ok(
        "local train = require 'rtrain' train.TorchTrainer(function() train.report{x = 1} end):fit()",
        "--name",
        "earlier",
    )
    running = rtrain.started("run", rtrain.script(SAVING), reports=4)
    for path in rtrain.storage.glob(parts):
        path.unlink()
    wait_until(lambda: not running.running or "it was written again" in running.stderr, message="the line about it")
    enough(rtrain)
    result = running.wait()
    assert result.returncode == 0, result.stderr
    assert {run["name"]: run["status"] for run in rtrain.json("ls")} == {"earlier": "FINISHED", "saving": "FINISHED"}
    epochs = [row["epoch"] for row in rtrain.reports("saving")]
    assert epochs == list(range(1, len(epochs) + 1)) and len(epochs) >= 3
    assert rtrain.reports("earlier") == [{"x": 1}]


def test_a_store_that_is_cut_short_ends_the_run_and_repair_saves_the_rest(rtrain):
    for name in "abc":
        rtrain.run_ok(
            """
            local train = require 'rtrain'
            train.TorchTrainer(function() for i = 1, 500 do train.report{i = i} end end):fit()
            """,
            "--name",
            name,
        )
    # VACUUM writes table by table: the rows of the runs come first, so the cut below removes reports and later tables.
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", timeout=60)) as db:
        db.execute("VACUUM")
    running = rtrain.started("run", rtrain.script(SAVING), reports=1501)
    path = rtrain.storage / "rtrain.db"
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.truncate(size * 3 // 4 // 4096 * 4096)
    result = running.wait()
    assert result.returncode == 4, result.stderr
    assert "is damaged" in result.stderr and "rtrain gc --rebuild" in result.stderr, result.stderr
    repaired = rtrain("gc", "--rebuild")
    assert repaired.returncode == 0, repaired.stderr
    assert {run["name"] for run in rtrain.json("ls")} == {"a", "b", "c", "saving"}, repaired.stdout
    assert sum(len(rtrain.reports(name)) for name in "abc") > 0


def fill(disk):
    """Fills the disk; returns the file that takes the space."""
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
    return filler


@pytest.mark.parametrize("script", [SAVING, PRINTING], ids=["checkpoints", "logs"])
def test_a_disk_that_is_full_for_a_while_is_waited_for(rtrain, small_disk, script):
    disk = small_disk("4m")
    rtrain.storage = disk
    rtrain.env["RTRAIN_STORAGE"] = str(disk)
    running = rtrain.start("run", rtrain.script(script))
    wait_until(lambda: not running.running or any(disk.rglob("rank-0.log")), message="the first line")
    filler = fill(disk)
    wait_until(lambda: not running.running or "RTRAIN_STORE_PATIENCE_S" in running.stderr, message="the notice")
    assert running.running, running.stderr
    filler.unlink()
    enough(rtrain)
    result = running.wait()
    assert result.returncode == 0, result.stderr
    (log,) = disk.rglob("rank-0.log")
    numbers = [
        int(line.split(".")[0].split()[1])
        for line in log.read_text().splitlines()
        if line.startswith(("line", "epoch"))
    ]
    assert numbers == list(range(1, len(numbers) + 1)), "nothing is lost, nothing is there twice"


@pytest.fixture
def run_on_a_full_disk(rtrain):
    """A run whose store finds a full disk after its first writes, and that has ended."""
    usual = dict(rtrain.env)
    rtrain.fail_calls("write|pwrite:100+:ENOSPC:path=rtrain.db:controller", RTRAIN_STORE_PATIENCE_S="0.3")
    result = rtrain("run", rtrain.script(SAVING))
    rtrain.env = usual
    assert result.returncode == 4, result.stderr
    assert "database or disk is full" in result.stderr
    assert f"the run's end is kept in {rtrain.storage}/saving/end" in result.stderr, result.stderr
    # Commands that only read find the end there, too.
    assert [run["status"] for run in rtrain.json("ls")] == ["ERRORED"] and rtrain.statuses("saving") == ["ERRORED"]
    assert rtrain.json("ls", "--where", "status = 'LOST'") == []
    return result


def check_end(rtrain):
    show = rtrain.json("show", "saving")
    assert show["status"] == "ERRORED" and show["ended_at"]
    assert [attempt["status"] for attempt in show["attempts"]] == ["ERRORED"]
    assert "is full" in show["attempts"][0]["error"]["message"]
    assert "is full" in rtrain("show", "saving").stdout
    assert not (rtrain.run_folder("saving") / "end").exists()
    enough(rtrain)
    again = rtrain("run", rtrain.script(SAVING), "--resume", "must")
    assert again.returncode == 0 and "ERRORED" in again.stderr, again.stderr


def test_the_end_of_a_run_on_a_full_disk_is_stored_by_the_next(rtrain, run_on_a_full_disk):
    rtrain.run_ok(
        "local train = require 'rtrain' train.TorchTrainer(function() train.report{} end):fit()", "--name", "next"
    )
    check_end(rtrain)


def test_the_end_of_a_run_on_a_full_disk_is_stored_by_repair(rtrain, run_on_a_full_disk):
    repaired = rtrain("gc", "--rebuild")
    assert repaired.returncode == 0 and "run saving: ERRORED" in repaired.stdout, repaired.stdout + repaired.stderr
    check_end(rtrain)


def test_a_full_disk_under_a_worker_is_worth_a_retry(rtrain):
    rtrain.fail_calls("mkdir:1+:ENOSPC:path=staging/1-:worker", RTRAIN_STORE_PATIENCE_S="0")
    enough(rtrain)
    assert rtrain("run", rtrain.script(SAVING)).returncode == 4
    result = rtrain("run", rtrain.script(SAVING), "--name", "again", "--max-failures", "1")
    assert result.returncode == 0 and "No space left on device" in result.stderr, result.stderr
    assert rtrain.statuses("again") == ["ERRORED", "FINISHED"]


def test_a_start_waits_for_a_locked_store(rtrain):
    enough(rtrain)
    rtrain.run_ok(SAVING)
    other = sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    running = rtrain.start("run", rtrain.script(SAVING), "--name", "next")
    wait_until(lambda: not running.running or "waiting for the store" in running.stderr, message="the line about it")
    assert running.running, running.stderr
    assert "(RTRAIN_STORE_PATIENCE_S)" in running.stderr
    rtrain.env["RTRAIN_STORE_PATIENCE_S"] = "0.5"
    refused = rtrain("run", rtrain.script(SAVING), "--name", "hasty")
    assert refused.returncode == 4
    assert "has been locked by another process for 0.5 s" in refused.stderr, refused.stderr
    assert not rtrain.run_folder("hasty").exists()
    other.execute("ROLLBACK")
    other.close()
    assert running.wait().returncode == 0


def test_a_dropped_checkpoint_goes_when_its_reader_has_gone(rtrain):
    rtrain.run_ok("""
        local epochs, train = require 'epochs', require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            epochs.save(1)
            train.get_checkpoint():with_directory(function() epochs.save(2) end)
          end,
          run_config = train.RunConfig{name = 'run', checkpoint_config = {num_to_keep = 1}},
        }:fit()
        """)
    assert [path.name for path in (rtrain.run_folder("run") / "checkpoints").iterdir()] == ["checkpoint_000001"]


def test_a_reader_that_outlives_the_run_deletes_what_was_dropped(rtrain):
    running = rtrain.started("run", rtrain.script(SAVING), reports=1)
    first = rtrain.run_folder("saving") / "checkpoints" / "checkpoint_000000"
    wait_until(lambda: first.exists() or not running.running, message="the first checkpoint")
    reader = rtrain.start(
        "exec",
        rtrain.script(
            f"""
        local files, train = require 'files', require 'rtrain'
        train.Checkpoint.from_directory('{first}'):with_directory(function()
          files.write('reading', '')
          files.wait_for 'read'
        end)
        """,
            "reader.lua",
        ),
    )
    wait_until(lambda: (rtrain.folder / "reading").exists() or not reader.running, message="the reader")
    assert reader.running, "num_to_keep has been faster than this test\n" + reader.stderr
    rtrain.wait_for_reports(running, 5)
    enough(rtrain)
    assert running.wait().returncode == 0
    assert first.exists(), "somebody reads it"
    (rtrain.folder / "read").touch()
    assert reader.wait().returncode == 0
    assert not first.exists()
    assert leftovers(rtrain.run_folder("saving") / "staging") == []
