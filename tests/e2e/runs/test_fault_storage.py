"""Storage faults: a disk that is full, fails to sync, is slow, read-only or damaged; a locked database; clocks that
jump."""

import contextlib
import pathlib
import sqlite3
import time

import pytest

import checker
from conftest import leftovers, nightly, wait_until

pytestmark = nightly


# fault: disk full while a checkpoint is written
def test_a_full_disk_under_a_checkpoint_leaves_the_one_before(saver):
    result = saver.run_with_io(
        "write|copy_file_range:1+:ENOSPC:path=rank-1/rank-1:worker,fdatasync:2:ENOSPC:path=/rank-1:rank=1"
    )
    assert result.returncode == 4 and saver.fired, result.stdout + result.stderr
    assert "No space left on device" in result.stderr and "/rank-1" in result.stderr
    saver.check()
    disk = checker.Disk(saver.rtrain.storage)
    assert [checker.verified_epoch(path) for path in disk.directories()] == [1]
    assert leftovers(disk.folder / "staging") == []


# fault: disk full at rename and sync
@pytest.mark.parametrize("call, path", [("rename", "checkpoints/"), ("fsync", "/checkpoints"), ("fsync", "/rank-0")])
def test_an_error_as_the_checkpoint_gets_its_name(saver, call, path):
    result = saver.run_with_io(f"{call}:2:EIO:path={path}:controller")
    assert saver.fired and result.returncode == 4, result.stdout + result.stderr
    assert "Input/output error" in result.stderr and "checkpoint" in result.stderr
    saver.check()
    assert [
        checker.verified_epoch(checker.Disk(saver.rtrain.storage).folder / "checkpoints" / name)
        for name in checker.Disk(saver.rtrain.storage).kept()
    ] == [1]


# fault: error of fsync
def test_a_failed_sync_is_never_taken_for_done(saver):
    # For a checkpoint's file: the sync is not tried again, and the report fails.
    result = saver.run_with_io("fdatasync:1:EIO:path=/rank-0/:rank=0")
    assert result.returncode == 4 and len(saver.fired) == 1, result.stdout + result.stderr
    assert "cannot sync" in result.stderr
    saver.check()
    assert checker.Disk(saver.rtrain.storage).kept() == []

    # For the store's log: first of all its content is written to the database file and synced there.
    saver.clear()
    trace = "fdatasync:5:EIO:path=rtrain.db-wal:controller,fdatasync|ftruncate:1+:sleep=0:path=rtrain.db:controller"
    saver.run_with_io(trace)
    calls = [line.split()[1:] for line in saver.fired]
    failed = next(i for i, call in enumerate(calls) if call[2] == "EIO")
    after = [(call[0], pathlib.Path(call[1]).name) for call in calls[failed + 1 :]]
    assert ("fdatasync", "rtrain.db") in after, after
    assert ("fdatasync", "rtrain.db-wal") not in after[1 : after.index(("fdatasync", "rtrain.db"))], after
    saver.check()


@pytest.mark.parametrize(
    "rules",
    ["read|pread|write|pwrite|copy_file_range:25%:short", "read|pread|write|pwrite|copy_file_range|fsync:25%:EINTR"],
)
# fault: short writes, EINTR
def test_short_and_interrupted_calls_change_nothing(saver, rules):
    result = saver.run_with_io(rules, RTRAIN_FAULTIO_SEED="7")
    assert len(saver.fired) > 20
    assert result.returncode == 0, result.stdout + result.stderr
    saver.check()
    checker.check_finished(saver.rtrain.storage, 2)


# fault: read-only storage
def test_a_storage_that_cannot_be_written_is_refused_at_once(rtrain):
    rtrain.storage.mkdir()
    rtrain.fail_calls("open|mkdir:1+:EROFS:path=/storage")
    result = rtrain.run("require('rtrain').TorchTrainer{train_loop_per_worker = function() print('started') end}:fit()")
    assert result.returncode == 4
    assert str(rtrain.storage) in result.stderr and "started" not in result.stdout
    assert list(rtrain.storage.iterdir()) == []


# fault: slow disk
def test_a_slow_disk_makes_a_run_late_and_nothing_else(saver):
    result = saver.run_with_io("write|pwrite|copy_file_range:1+:slow=2000000:path=/storage,fsync|fdatasync:1+:sleep=30")
    assert result.returncode == 0, result.stdout + result.stderr
    checker.check_finished(saver.rtrain.storage, 2)


# fault: clock jumps
@pytest.mark.parametrize("seconds", [3600, -3600])
@pytest.mark.parametrize("who", ["1+:{}:worker", "2+:{}:controller"], ids=["the workers' own", "set in mid-run"])
def test_a_clock_that_jumps(saver, who, seconds):
    result = saver.run_with_io(f"clock_gettime:{who.format(f'jump={seconds}')}")
    assert result.returncode == 0, result.stdout + result.stderr
    checker.check_finished(saver.rtrain.storage, 2)
    for document in [saver.rtrain.json("show", "saver"), *saver.rtrain.json("ls")]:
        assert document["status"] == "FINISHED" and 0 <= document["duration_s"] < 600, document


# fault: clock jumps
def test_a_run_that_goes_on_with_a_clock_set_back_has_no_negative_duration(rtrain):
    text = """
        local train = require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function() error 'again' end,
          run_config = train.RunConfig{name = 'again', resume = 'auto'},
        }:fit{raise = false}
        """
    rtrain.run_ok(text)
    rtrain.fail_calls("clock_gettime:1+:jump=-86400")
    rtrain.run_ok(text)
    assert rtrain.json("show", "again")["duration_s"] >= 0


PLAIN = """
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local i = 0
    repeat
      i = i + 1
      train.report{i = i}
      os.execute('sleep 0.02')
    until io.open('enough')
    train.report{i = i + 1}
  end,
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{name = 'plain'},
}:fit()
"""


# fault: disk full for the database
def test_reports_wait_while_the_disk_is_full(rtrain, small_disk):
    disk = small_disk("2m")
    rtrain.storage = disk
    rtrain.env["RTRAIN_STORAGE"] = str(disk)
    running = rtrain.started("run", rtrain.script(PLAIN), reports=3)
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    wait_until(lambda: not running.running or "reports wait in memory" in running.stderr, message="the notice")
    assert running.running, running.stderr
    filler.unlink()
    (rtrain.folder / "enough").touch()
    result = running.wait()
    assert result.returncode == 0 and "is full" in result.stderr, result.stderr
    numbers = [row["i"] for row in rtrain.reports("plain")]
    assert numbers == list(range(1, len(numbers) + 1))


def locked_run(rtrain, hold):
    """A run whose store another program locks for the duration of `hold(running)`."""
    running = rtrain.started("run", rtrain.script(PLAIN), reports=3)
    other = sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None, timeout=60)
    try:
        other.execute("BEGIN EXCLUSIVE")
        hold(running)
        other.execute("ROLLBACK")
    finally:
        other.close()
    (rtrain.folder / "enough").touch()
    return running.wait()


# fault: database locked from outside
def test_another_program_locks_the_store(rtrain):
    result = locked_run(rtrain, lambda _: time.sleep(1))
    assert result.returncode == 0, result.stderr
    numbers = [row["i"] for row in rtrain.reports("plain")]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 5


# fault: database locked from outside
def test_a_store_that_stays_locked_is_named(rtrain):
    rtrain.env["RTRAIN_STORE_PATIENCE_S"] = "0.5"
    result = locked_run(rtrain, lambda running: wait_until(lambda: not running.running, message="the end of the run"))
    assert result.returncode == 4
    assert "rtrain.db has been locked by another process for 0.5 s" in result.stderr


# fault: damaged database
def test_a_damaged_store_is_refused_loudly(saver):
    saver.run()
    path = saver.rtrain.storage / "rtrain.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:16] + bytes(200) + whole[216:])
    for command in (("ls",), ("show", "saver"), ("run", saver.rtrain.folder / "saver.lua")):
        result = saver.rtrain(*command)
        assert result.returncode == 4, f"{command}\n{result.stdout}{result.stderr}"
        assert str(path) in result.stderr, result.stderr
    assert path.read_bytes() != whole, "nobody repairs what it cannot read"
    checker.verified_epoch(saver.rtrain.run_folder("saver") / "checkpoints" / "checkpoint_000003")


# fault: newer schema
def test_a_store_of_a_newer_version_is_only_read(saver):
    saver.run()
    connection = sqlite3.connect(saver.rtrain.storage / "rtrain.db")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute(f"PRAGMA user_version = {version + 1}")
    connection.commit()
    connection.close()
    result = saver.run(options=("--name", "another"))
    assert result.returncode == 4 and "newer" in result.stderr, result.stderr
    assert not saver.rtrain.run_folder("another").exists()
    assert [row["name"] for row in saver.rtrain.json("ls")] == ["saver"]
