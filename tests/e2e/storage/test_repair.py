"""Damaged pages of a store are reported, and `rtrain gc --rebuild` restores the runs from their checkpoints."""

import contextlib
import os
import sqlite3

from test_resume import COUNTING, gone_on


def damage(rtrain, pages):
    """Overwrites these parts of the file, like a disk that has lost them."""
    path = rtrain.storage / "rtrain.db"
    size = path.stat().st_size
    with open(path, "r+b") as file:
        for part in pages:
            file.seek(int(size * part) // 4096 * 4096)
            file.write(os.urandom(4096))


# fault: damaged database
def test_a_damaged_store_is_repaired_from_its_checkpoints(rtrain):
    rtrain.run_ok(COUNTING)
    assert rtrain("gc", "--rebuild").returncode == 0, "a sound store stays one"
    assert [run["name"] for run in rtrain.json("ls")] == ["run"] and len(rtrain.reports("run")) == 4
    damage(rtrain, [0])
    refused = rtrain("ls")
    assert refused.returncode == 4 and "rtrain gc --rebuild --storage" in refused.stderr
    assert rtrain("run", "train.lua", "--resume", "auto").returncode == 4
    repaired = rtrain("gc", "--rebuild")
    assert repaired.returncode == 0, repaired.stderr
    assert "run run: 2 checkpoints brought back" in repaired.stdout
    assert len(list(rtrain.storage.glob("rtrain.db.damaged-*"))) >= 1
    show = rtrain.json("show", "run")
    assert show["status"] == "LOST" and [c["index"] for c in show["checkpoints"]] == [2, 3]
    gone_on(rtrain, "--set", "epochs=5")
    assert [row["epoch"] for row in rtrain.reports("run")] == [3, 4, 5]


def test_rows_beside_the_damage_are_saved(rtrain):
    rtrain.run_ok(COUNTING, "--set", "epochs=30")
    damage(rtrain, [0.6, 0.8])
    repaired = rtrain("gc", "--rebuild")
    assert repaired.returncode == 0, repaired.stderr
    assert rtrain("ls").returncode == 0
    assert [c["index"] for c in rtrain.json("show", "run")["checkpoints"]][-2:] == [28, 29]
    gone_on(rtrain, "--set", "epochs=31")
    assert rtrain.reports("run")[-1]["epoch"] == 31


def files_of(storage):
    """Returns the database and the files that repair has put next to it, without SQLite's journals."""
    return sorted(
        path.name
        for path in storage.iterdir()
        if path.name.startswith("rtrain.db") and "-wal" not in path.name and "-shm" not in path.name
    )


def test_a_sound_store_stays_in_its_place(rtrain):
    rtrain.run_ok(COUNTING)
    before = (rtrain.storage / "rtrain.db").stat().st_ino
    repaired = rtrain("gc", "--rebuild")
    assert repaired.returncode == 0 and "is sound: nothing to repair" in repaired.stdout
    assert files_of(rtrain.storage) == ["rtrain.db"]
    assert (rtrain.storage / "rtrain.db").stat().st_ino == before

    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)) as db:
        db.execute("DELETE FROM checkpoints")
    assert "run run: 2 checkpoints brought back" in rtrain("gc", "--rebuild").stdout
    assert files_of(rtrain.storage) == ["rtrain.db"]
    assert [c["index"] for c in rtrain.json("show", "run")["checkpoints"]] == [2, 3]


def test_a_file_of_another_program_is_left_alone(rtrain):
    rtrain.storage.mkdir()
    path = rtrain.storage / "rtrain.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE mine(x)")
    before = path.read_bytes()
    refused = rtrain("gc", "--rebuild")
    assert refused.returncode == 4 and "database of another program" in refused.stderr
    assert path.read_bytes() == before and files_of(rtrain.storage) == ["rtrain.db"]


LOGGING = """
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function(config)
    train.annotate 'a note'
    train.log_text('sample', 'a text')
    for step = 1, 100 do train.log({loss = 1 / step}, {step = step}) end
    if not config.saves then return train.report{epoch = 1} end
    train.tempdir(function(dir)
      io.open(dir .. '/file', 'w'):close()
      train.report({epoch = 1}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end,
  train_loop_config = {saves = true},
}:fit()
"""


def test_rows_without_their_run_go_and_those_of_a_run_that_is_back_stay(rtrain):
    rtrain.run_ok(LOGGING, "--name", "kept")
    rtrain.run_ok(LOGGING, "--name", "gone", "--set", "saves=false")
    tables = [
        "attempts",
        "workers",
        "reports",
        "annotations",
        "series",
        "series_chunks",
        "series_summaries",
        "nodes",
        "media",
        "media_contents",
    ]
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)) as db:
        before = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
        db.execute("DELETE FROM runs")  # foreign keys are off: this simulates damage
    repaired = rtrain("gc", "--rebuild").stdout.splitlines()
    assert repaired == ["run kept: brought back", f"{sum(before.values()) // 2} rows of runs that are lost deleted"]
    with rtrain.database() as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert len(db.execute("SELECT * FROM sources").fetchall()) == 1
        assert {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables} == {
            table: count // 2 for table, count in before.items()
        }
    assert [note["text"] for note in rtrain.json("show", "kept")["annotations"]] == ["a note"]
    assert len(rtrain.json("metrics", "kept", "--series", "loss")) == 100


def test_points_are_bytes_also_when_they_were_copied(rtrain):
    rtrain.run_ok(LOGGING, "--name", "kept")
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page, size = db.execute(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE name = 'events_of_run'"
        ).fetchone()
    with open(rtrain.storage / "rtrain.db", "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    repaired = rtrain("gc", "--rebuild")
    assert repaired.returncode == 0 and "the damaged file is" in repaired.stdout
    with rtrain.database() as db:
        assert db.execute("SELECT DISTINCT typeof(data) FROM series_chunks").fetchall() == [("blob",)]
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert len(rtrain.json("metrics", "kept", "--series", "loss")) == 100
