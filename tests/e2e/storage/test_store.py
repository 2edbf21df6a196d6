"""The store: other processes read it while a run writes to it, and afterwards."""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

from conftest import RTRAIN, wait_until

RUN = """
local torch = require 'torch'
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function(config)
    torch.set_num_threads(1)
    local rank = train.get_context():get_world_rank()
    for epoch = 1, config.epochs do
      train.tempdir(function(dir)
        io.open(dir .. '/file', 'w'):close()
        train.report({epoch = epoch, loss = 1 / epoch, rank = rank}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      if config.endless then os.execute('sleep 0.02') end
    end
  end,
  train_loop_config = {epochs = 3, endless = false},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'first', checkpoint_config = train.CheckpointConfig{num_to_keep = 1}},
}:fit()
"""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
RUN_KEYS = {
    "name",
    "run_id",
    "status",
    "num_workers",
    "started_at",
    "ended_at",
    "duration_s",
    "waiting_s",
    "running_s",
    "script",
    "metrics",
    "tags",
}
SHOW_KEYS = RUN_KEYS | {
    "config",
    "note",
    "scaling",
    "attempts",
    "checkpoints",
    "best_checkpoints",
    "annotations",
    "nodes",
    "path",
    "environment",
    "last_report",
}
CHECKPOINT_KEYS = {
    "name",
    "path",
    "index",
    "attempt",
    "metrics",
    "size_bytes",
    "created_at",
    "status",
    "latest",
    "best",
}


def test_the_documents_have_the_promised_keys(rtrain):
    rtrain.run_ok(RUN, "--tag", "red", "--tag", "blue")

    (run,) = rtrain.json("ls")
    assert set(run) == RUN_KEYS
    assert (run["name"], run["status"], run["num_workers"], run["tags"]) == ("first", "FINISHED", 2, ["red", "blue"])
    assert TIME.fullmatch(run["started_at"]) and TIME.fullmatch(run["ended_at"])
    assert 0 < run["duration_s"] < 120
    assert run["script"].endswith("train.lua")
    assert run["metrics"] == {"epoch": 3, "loss": 1 / 3, "rank": 0}

    show = rtrain.json("show", "first")
    assert set(show) == SHOW_KEYS
    assert show["config"] == {"epochs": 3, "endless": False}
    assert show["scaling"]["num_workers"] == 2
    assert show["path"] == str(rtrain.run_folder("first"))
    assert set(show["environment"]) >= {"git_commit", "git_dirty", "hostname", "command"}
    (attempt,) = show["attempts"]
    assert set(attempt) == {"attempt", "status", "error", "started_at", "ended_at", "heal_s", "timing", "workers"}
    assert (attempt["attempt"], attempt["status"], attempt["error"]) == (1, "FINISHED", None)
    assert [worker["rank"] for worker in attempt["workers"]] == [0, 1]
    for worker in attempt["workers"]:
        assert set(worker) == {
            "rank",
            "pid",
            "host",
            "device",
            "gpu",
            "data",
            "timing",
            "lost_s",
            "exit_code",
            "signal",
        }
        assert (worker["exit_code"], worker["signal"], worker["device"]) == (0, None, "cpu")

    rows = rtrain.json("metrics", "first")
    assert all(set(row) == {"index", "attempt", "time", "metrics"} and TIME.fullmatch(row["time"]) for row in rows)
    assert [row["index"] for row in rows] == [0, 1, 2]
    assert [row["metrics"]["epoch"] for row in rows] == [1, 2, 3]
    ranks = rtrain.json("metrics", "first", "--ranks")
    assert [[metrics["rank"] for metrics in row["ranks"]] for row in ranks] == [[0, 1]] * 3

    (checkpoint,) = rtrain.json("checkpoint", "ls", "first")
    assert set(checkpoint) == CHECKPOINT_KEYS
    assert (checkpoint["index"], checkpoint["latest"]) == (2, True)
    assert show["checkpoints"] == [checkpoint]


def test_runs_are_found_by_name_prefix_id_and_last(rtrain):
    rtrain.run_ok(RUN)
    rtrain.run_ok(RUN, "--name", "second", "--set", "epochs=1")
    identity = rtrain.json("show", "second")["run_id"]
    for name in ("second", "sec", identity, identity[:8], "last"):
        assert rtrain.json("show", name)["name"] == "second", name
    assert rtrain.json("show", "fir")["name"] == "first"
    missing = rtrain("show", "thrid")
    assert missing.returncode == 2 and "thrid" in missing.stderr
    assert [run["name"] for run in rtrain.json("ls")] in (["second", "first"], ["first", "second"])


def test_sqlite3_reads_while_a_run_writes(rtrain):
    running = rtrain.started("run", rtrain.script(RUN), "--set", "epochs=1000000", "--set", "endless=true")
    counts = []

    def counted():
        assert running.running, running.stderr
        done = subprocess.run(
            [
                "sqlite3",
                str(rtrain.storage / "rtrain.db"),
                "SELECT count(*) FROM reports WHERE rank = 0; PRAGMA quick_check;",
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        count, check = done.stdout.split()
        assert check == "ok"
        counts.append(int(count))
        return len(counts) >= 3 and counts[-1] >= counts[0] + 5

    wait_until(counted, message="reports that sqlite3 sees")
    assert rtrain.json("ls")[0]["status"] == "RUNNING"
    running.send(2)
    assert running.wait().returncode == 130
    assert counts == sorted(counts)


def test_values_of_metrics_survive(rtrain):
    rtrain.run_ok("""
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            train.report{whole = 3, big = 2^53, half = 0.5, nan = 0 / 0, inf = math.huge, minus = -math.huge, text = 'ä"\\\\',
              yes = true, list = {1, 2.5}, map = {a = {b = 1}}, scalar = torch.tensor(1.5), count = torch.ones{3}:sum():long()}
          end,
          scaling_config = train.ScalingConfig{num_workers = 1},
        }:fit()
        """)
    (metrics,) = rtrain.reports()
    assert metrics == {
        "whole": 3,
        "big": 2**53,
        "half": 0.5,
        "nan": "NaN",
        "inf": "Infinity",
        "minus": "-Infinity",
        "text": 'ä"\\',
        "yes": True,
        "list": [1, 2.5],
        "map": {"a": {"b": 1}},
        "scalar": 1.5,
        "count": 3,
    }


def test_a_metric_that_is_no_value_is_refused_by_its_name(rtrain):
    result = rtrain.run("""
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            train.report{loss = 1, logits = torch.zeros(3)}
          end,
          scaling_config = train.ScalingConfig{num_workers = 1},
        }:fit()
        """)
    assert result.returncode == 1
    assert "logits" in result.stderr and "train.lua:5:" in result.stderr


def loaded_libraries(rtrain, *args):
    """Returns the libraries that the dynamic loader reports for `rtrain …`."""
    done = subprocess.run(
        [RTRAIN, *map(str, args)],
        env={**rtrain.env, "LD_DEBUG": "files"},
        cwd=rtrain.folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


def test_only_processes_that_compute_map_libtorch(rtrain):
    script = rtrain.script("require('torch').zeros(2)", name="tensor.lua")
    assert "libtorch_cpu" in loaded_libraries(rtrain, "exec", script), "the method of this test works"

    running = rtrain.started("run", rtrain.script(RUN), "--set", "epochs=1000000", "--set", "endless=true")
    controller = open(f"/proc/{running.pid}/maps").read()
    workers = [open(f"/proc/{pid}/maps").read() for pid in rtrain.pids("first")]
    running.send(2)
    running.wait()
    assert "libtorch" not in controller
    assert ["libtorch_cpu" in maps for maps in workers] == [True, True]

    for command in (
        ["ls"],
        ["show", "first"],
        ["metrics", "first"],
        ["checkpoint", "ls", "first"],
        ["logs", "first"],
        ["sql", "SELECT name FROM runs"],
        ["env"],
        ["--version"],
    ):
        assert "libtorch_cpu.so" not in loaded_libraries(rtrain, *command), command


@contextlib.contextmanager
def read_only(folder):
    done = subprocess.run(["mount", "--bind", "-o", "ro", folder, folder], capture_output=True)
    if done.returncode != 0:
        pytest.skip("a read-only place needs the right to mount")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_store_in_a_read_only_place_is_readable(rtrain):
    rtrain.run_ok(RUN)
    with read_only(rtrain.storage):
        assert [run["name"] for run in rtrain.json("ls")] == ["first"]
        assert len(rtrain.json("metrics", "first")) == 3


def test_gc_of_a_read_only_place_says_what_it_would_remove(rtrain):
    rtrain.run_ok(RUN)
    (rtrain.storage / ".removed-cut").mkdir()
    with read_only(rtrain.storage):
        (item,) = rtrain.json("gc", "--dry-run")
        assert (item["path"], item["removed"]) == (str(rtrain.storage / ".removed-cut"), False)
        assert rtrain("gc").returncode == 4


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_what_a_killed_writer_left_is_read_in_a_read_only_place(rtrain, mode):
    rtrain.run_ok(RUN)
    frozen = rtrain.folder / "frozen"
    frozen.mkdir()
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)) as db:
        assert db.execute(f"PRAGMA journal_mode={mode}").fetchone()[0] == mode.lower()
        db.execute("PRAGMA wal_autocheckpoint=0")
        db.execute("UPDATE runs SET note = 'committed'")
        if mode == "DELETE":
            # With such a small cache SQLite writes pages of the open transaction to the file, and the old pages to the
            # journal.
            db.execute("PRAGMA cache_size=1")
            db.execute("PRAGMA synchronous=FULL")
            db.execute("BEGIN")
            db.execute("UPDATE runs SET note = 'not committed'")
            db.execute(
                "CREATE TABLE large AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
                "SELECT randomblob(1000) FROM n"
            )
        for path in rtrain.storage.glob("rtrain.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, frozen)
    assert any(path.stat().st_size > 0 for path in frozen.glob("rtrain.db-*")), "the method of this test works"
    with read_only(frozen):
        assert rtrain.json("sql", "SELECT note FROM runs", "--storage", frozen) == [{"note": "committed"}]
        assert [run["name"] for run in rtrain.json("ls", "--storage", frozen)] == ["first"]


@pytest.mark.parametrize(
    "name", ["lock", "logs/attempt-1/rank-0.log", "checkpoints/checkpoint_000002/.rtrain-checkpoint.json"]
)
def test_a_fifo_where_a_file_was_is_not_waited_for(rtrain, name):
    rtrain.run_ok(RUN)
    path = rtrain.run_folder("first") / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for command in (
        ["ls"],
        ["show", "first"],
        ["logs", "first"],
        ["logs", "first", "-f"],
        ["repair"],
        ["run", "train.lua", "--resume", "auto"],
    ):
        assert rtrain(*command, timeout=60).returncode in (0, 4), command


def test_many_controllers_share_a_store(rtrain):
    script = rtrain.script(RUN)
    running = [rtrain.start("run", script, "-n", "1", "--name", f"run-{i}") for i in range(4)]
    for process in running:
        result = process.wait()
        assert result.returncode == 0, result.stderr
    assert sorted(run["name"] for run in rtrain.json("ls")) == [f"run-{i}" for i in range(4)]
    assert all(len(rtrain.json("metrics", f"run-{i}")) == 3 for i in range(4))


def test_the_storage_folder_may_be_moved(rtrain):
    rtrain.run_ok(RUN)
    moved = rtrain.folder / "moved"
    os.rename(rtrain.storage, moved)
    show = rtrain.json("show", "first", "--storage", moved)
    assert show["path"] == str(moved / "first")
    assert show["checkpoints"][0]["path"].startswith(str(moved))
