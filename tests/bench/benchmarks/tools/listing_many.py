"""`rtrain ls` over 10,000 runs of 100 config values: the newest, filters by metric and config value, memory, the best."""

import json
import os
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time

from benchmarks.tools.listing import at_its_output
from harness import sides
from harness.benchmark import BenchError, Benchmark, Goal, Metric

NAME = "listing_many"
RUNS = 10_000
VALUES = 100
CALLS = 9
TIMEOUT_S = 120
STARTED_MS = 1_770_000_000_000

COMMANDS = {
    "version": ["--version"],
    "newest": ["ls", "--limit", "20"],
    "by_metric": ["ls", "--where", "accuracy > 0.999"],
    "by_config": ["ls", "--where", "config.value_50 > 0.999"],
    "sorted": ["ls", "--sort", "-accuracy", "--limit", "20"],
    "best": ["show", "best:accuracy"],
}


def build(config):
    storage = tempfile.TemporaryDirectory(prefix="bench-listing-many-")
    environment = {**os.environ, **sides.rtrain_environment(config), "RTRAIN_STORAGE": storage.name}
    _make_store(config, storage.name, environment)

    def sample():
        sample = {name: _latency([config.rtrain, *command], environment) for name, command in COMMANDS.items()}
        return {**sample, "memory": _memory_mb([config.rtrain, *COMMANDS["by_config"]], environment)}

    benchmark = Benchmark(
        name=NAME,
        text=f"milliseconds from exec to exit, over {RUNS} runs of {VALUES} config values and 3 reports each",
        metrics=[
            *(Metric(name, "ms", places=1) for name in COMMANDS),
            Metric("memory", "MB", "resident, of by_config", 1),
        ],
        goals=[
            Goal("version", 10),
            Goal("newest", 10),
            Goal("by_metric", 50),
            Goal("by_config", 50),
            Goal("memory", 12),
        ],
        sides={"rtrain": sample},
        notes=["; ".join(f"{name}: rtrain {' '.join(command)}" for name, command in COMMANDS.items())],
    )
    benchmark.storage = storage  # the folder must live as long as the benchmark
    return benchmark


def _make_store(config, storage, environment):
    """One real run creates the tables; the others are copies of its row."""
    script = os.path.join(sides.HERE, "report.lua")
    done = subprocess.run(
        [
            config.rtrain,
            "run",
            script,
            "--name",
            "first",
            "--set",
            "reports=1",
            "--set",
            "spaced=0",
            "--set",
            f"events={storage}",
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode != 0:
        raise BenchError(f"rtrain: the run that makes the store ended with {done.returncode}:\n{done.stderr[-2000:]}")
    draw = random.Random(1)
    database = sqlite3.connect(os.path.join(storage, "rtrain.db"), isolation_level=None)
    database.execute("BEGIN")
    for index in range(RUNS):
        run_id = f"{draw.getrandbits(64):016x}"
        values = {f"value_{n}": draw.random() for n in range(VALUES)}
        start = STARTED_MS + index * 1000
        database.execute(
            "INSERT INTO runs(run_id, name, status, num_workers, script, note, command, tags, config, scaling, "
            "checkpoint_config,"
            " environment, started_at, ended_at, updated_at, owner_epoch)"
            " VALUES(?, ?, 'FINISHED', 2, 'train.lua', '', '[]', '[]', ?, '{}', ?, '{}', ?, ?, ?, 1)",
            (
                run_id,
                f"run-{index}",
                json.dumps(values),
                json.dumps({"checkpoint_score_attribute": "accuracy"}),
                start,
                start + 60_000,
                start + 60_000,
            ),
        )
        for report in range(3):
            metrics = {"epoch": report, "loss": draw.random(), "accuracy": draw.random()}
            database.execute(
                "INSERT INTO reports(run_id, attempt, idx, rank, time, metrics) VALUES(?, 1, ?, 0, ?, ?)",
                (run_id, report, start + report, json.dumps(metrics)),
            )
    database.execute("COMMIT")
    database.close()


def _memory_mb(command, environment):
    with at_its_output(command, environment) as process, open(f"/proc/{process.pid}/status") as status:
        [peak] = [line.split()[1] for line in status if line.startswith("VmHWM:")]
    return int(peak) / 1024


def _latency(command, environment):
    taken = []
    for _ in range(CALLS):
        start = time.monotonic()
        # With pipes, Python does not poll for the end at growing intervals.
        subprocess.run(command, env=environment, capture_output=True, check=True, timeout=TIMEOUT_S)
        taken.append(1e3 * (time.monotonic() - start))
    return statistics.median(taken)
