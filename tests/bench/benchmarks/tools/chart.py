"""Charts of random parts of a series of a hundred million points, compared with a scan of every point; and the bytes of
a point.
"""

import os
import subprocess
import tempfile

from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric
from harness.built import build_target

NAME = "chart"
POINTS, QUICK_POINTS = 10**8, 10**6
QUERIES, SCANS, COMPARED = 300, 5, 10
TIMEOUT_S = 900


def build(config):
    program = build_target(config, "chart_bench")
    folder = tempfile.TemporaryDirectory(prefix="bench-chart-")
    points = QUICK_POINTS if config.quick else POINTS
    _run(program, "make", folder.name, points)
    _run(program, "compare", folder.name, COMPARED)
    stored = sum(entry.stat().st_size for entry in os.scandir(folder.name) if entry.is_file())
    benchmark = Benchmark(
        name=NAME,
        text=f"a chart of 1,000 columns of a random part of {points} points of a noisy loss, {QUERIES} times",
        metrics=[
            Metric("p50", "ms", places=1),
            Metric("p99", "ms", places=1),
            Metric("longest", "ms", places=1),
            Metric("bytes", "B", "the store, of a point", 2),
        ],
        goals=[Goal("p99", 30), Goal("bytes", 5)],
        sides={
            OWN: lambda: {**_times(_run(program, "chart", folder.name, QUERIES)), "bytes": stored / points},
            "all points": lambda: _times(_run(program, "points", folder.name, SCANS)),
        },
        notes=[
            f"each column of {COMPARED} charts had the extrema, with their places, that its points have",
            f"all points: unpacked and looked at, {SCANS} times",
        ],
    )
    benchmark.folder = folder  # the folder must live as long as the benchmark
    return benchmark


def _run(program, mode, folder, count):
    done = subprocess.run([program, mode, folder, str(count)], capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise BenchError(f"chart_bench {mode}: {done.stderr[-2000:]}")
    return done.stdout


def _times(text):
    return {name: float(value) for name, value in (line.split("\t") for line in text.splitlines())}
