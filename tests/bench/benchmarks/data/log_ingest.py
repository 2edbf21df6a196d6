"""Points per second of train.log from eight workers on one core, until all are stored, compared with trackers."""

import contextlib
import functools
import os
import sqlite3
import subprocess
import tempfile
import time

from harness import sides
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric
from harness.job import Job

NAME = "log_ingest"
WRITERS = 8
KEYS = 5
STEPS = {OWN: 100_000, "tensorboard": 2_000, "mlflow": 20, "trackio": 200}  # of each writer: takes some seconds
QUICK_STEPS = {OWN: 1_000, "tensorboard": 100, "mlflow": 2, "trackio": 10}
CORE = "0"
POLL_S = 0.05
TIMEOUT_S = 600


def build(config):
    steps = QUICK_STEPS if config.quick else STEPS
    trackers = dict.fromkeys(("mlflow", "trackio"), config.trackers_python) if not config.trackers_missing else {}
    pythons = {"tensorboard": config.torch_python, **trackers}
    return Benchmark(
        name=NAME,
        text=f"{WRITERS} writers on one core, {KEYS} values a call, until all can be read; microseconds of one point",
        metrics=[
            Metric("point", "us", places=3),
            Metric("rate", "k/s", "thousand points a second", 1),
            Metric("dropped", "%", "points that were dropped, and said so", 2),
        ],
        goals=[
            Goal("point", 1),
            Goal("point", 1 / 20, "mlflow"),
            Goal("point", 1 / 5, "tensorboard"),
            Goal("point", 1 / 5, "trackio"),
            Goal("dropped", 0),
        ],
        sides={
            OWN: lambda: _own(config, steps[OWN]),
            **{side: functools.partial(_peer, python, side, steps[side]) for side, python in pythons.items()},
        },
        skipped={side: config.trackers_missing for side in ("mlflow", "trackio") if config.trackers_missing},
        notes=[
            "tensorboard: SummaryWriter, a writer of its own for each process; mlflow: log_metrics into its SQLite file"
        ],
    )


def _own(config, steps):
    def command(storage, events):
        settings = ["--set", f"steps={steps}", "--set", f"events={events}"]
        script = os.path.join(sides.HERE, "log_ingest.lua")
        return [
            "taskset",
            "-c",
            CORE,
            config.rtrain,
            "run",
            script,
            "--storage",
            storage,
            "--name",
            "run",
            "--oversubscribe",
            *settings,
        ]

    with Job("rtrain", command, sides.rtrain_environment(config)) as job:
        stored, end = 0, None
        while job.is_running():
            time.sleep(POLL_S)
            if (points := _stored(job.storage)) != stored:
                stored, end = points, time.monotonic()
        job.finish(TIMEOUT_S)
        begin = min(job.mark(rank, "begin").time for rank in range(WRITERS))
    wanted = steps * KEYS * WRITERS
    return {**_figures(stored / (end - begin)), "dropped": 100 * (wanted - stored) / wanted}


def _stored(storage):
    """Returns the number of stored points. The reader runs on the other core."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{storage}/rtrain.db?mode=ro", uri=True)) as database:
            query = "SELECT sum(count) FROM series_chunks JOIN series USING(series_id) WHERE key NOT LIKE '%/%'"
            return database.execute(query).fetchone()[0] or 0
    except sqlite3.OperationalError:
        return 0  # the tables are still being created


def _peer(python, tracker, steps):
    program = os.path.join(sides.PEERS, "log_ingest.py")
    with tempfile.TemporaryDirectory(prefix=f"bench-{tracker}-") as folder:
        command = ["taskset", "-c", CORE, python, program, tracker, folder, str(WRITERS), str(steps)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as late:
            raise BenchError(f"{tracker}: not done after {TIMEOUT_S} s") from late
    if done.returncode != 0:
        raise BenchError(f"{tracker}: {done.stderr[-2000:]}")
    [rate] = [float(line.split("\t")[1]) for line in done.stdout.splitlines() if line.startswith("rate\t")]
    return _figures(rate)


def _figures(points_per_s):
    return {"point": 1e6 / points_per_s, "rate": points_per_s / 1e3}
