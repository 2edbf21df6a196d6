"""result.metrics_dataframe of a million reports, compared with the time that SQLite alone takes for the rows."""

import contextlib
import json
import os
import sqlite3
import subprocess
import tempfile
import time

from harness import sides
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric

NAME = "dataframe"
ROWS, QUICK_ROWS = 1_000_000, 10_000
TIMEOUT_S = 600


def build(config):
    rows = QUICK_ROWS if config.quick else ROWS
    storage = tempfile.TemporaryDirectory(prefix="bench-dataframe-")
    environment = {**os.environ, **sides.rtrain_environment(config)}
    _make_run(config, storage.name, environment, rows)
    benchmark = Benchmark(
        name=NAME,
        text=f"metrics_dataframe of {rows} reports of three numbers, in milliseconds",
        metrics=[Metric("read", "ms", places=0)],
        goals=[Goal("read", 150)],
        sides={OWN: lambda: _own(config, storage.name, environment, rows), "json": lambda: _python(storage.name)},
        notes=["json: Python's sqlite3 and json.loads, row by row"],
    )
    benchmark.storage = storage  # the folder must live as long as the benchmark
    return benchmark


def _make_run(config, storage, environment, rows):
    script = os.path.join(sides.HERE, "report.lua")
    settings = ["--set", "reports=1", "--set", "spaced=0", "--set", f"events={storage}"]
    done = subprocess.run(
        [config.rtrain, "run", script, "--name", "run", "--storage", storage, *settings],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode != 0:
        raise BenchError(f"rtrain: the run that makes the store ended with {done.returncode}:\n{done.stderr[-2000:]}")
    with contextlib.closing(sqlite3.connect(os.path.join(storage, "rtrain.db"), isolation_level=None)) as database:
        [run_id] = database.execute("SELECT run_id FROM runs").fetchone()
        database.execute("BEGIN")
        database.execute("DELETE FROM reports")
        database.executemany(
            "INSERT INTO reports(run_id, attempt, idx, rank, time, metrics) VALUES(?, 1, ?, 0, ?, ?)",
            (
                (run_id, index, index, json.dumps({"epoch": index, "loss": 1 / (index + 1), "accuracy": index / rows}))
                for index in range(rows)
            ),
        )
        database.execute("COMMIT")


def _own(config, storage, environment, rows):
    script = os.path.join(sides.HERE, "dataframe.lua")
    done = subprocess.run(
        [config.rtrain, "exec", script, os.path.join(storage, "run"), str(rows)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode != 0:
        raise BenchError(f"rtrain: {done.stderr[-2000:]}")
    return {key: float(value) for key, value in (line.split("\t") for line in done.stdout.splitlines())}


def _python(storage):
    begin = time.monotonic()
    with contextlib.closing(sqlite3.connect(f"file:{storage}/rtrain.db?mode=ro", uri=True)) as database:
        rows = [
            json.loads(metrics)
            for (metrics,) in database.execute("SELECT metrics FROM reports WHERE rank = 0 ORDER BY idx")
        ]
    return {"read": 1e3 * (time.monotonic() - begin), "rows": len(rows)}
