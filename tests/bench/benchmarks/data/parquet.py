"""Scanning Parquet files: all columns of all rows on one core, compared with pyarrow's iter_batches."""

import os
import subprocess

from harness import data, sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import sampler

NAME = "parquet"


def build(config):
    folder = os.path.join(config.root, "build", "bench")
    file = os.path.join(folder, "table-quick.parquet" if config.quick else "table.parquet")
    peer = [config.torch_python, os.path.join(sides.PEERS, "parquet.py")]
    if not os.path.exists(file):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([*peer, "make", file, str(20_000 if config.quick else 2_000_000)], check=True)
    sets = {"table": [file], "images": _cifar10()}
    arguments = ["quick" if config.quick else "full", *(f"{name}={path}" for name in sets for path in sets[name])]
    metrics = [Metric("table", "ms", "numbers and strings, 2,000,000 rows")]
    goals = [Goal("table", 1.0, "pyarrow")]
    if sets["images"]:
        metrics.append(Metric("images", "ms", "CIFAR-10, 50,000 PNG images"))
        goals.append(Goal("images", 1.0, "pyarrow"))
    own = [config.rtrain, "exec", os.path.join(sides.HERE, "parquet.lua")]
    commands = {
        OWN: [*own, "batches", *arguments],
        "pyarrow": [*peer, "one", *arguments],
        "tensors": [*own, "tensors", *arguments],
        "threads": [*peer, "all", *arguments],
    }
    return Benchmark(
        name=NAME,
        text="milliseconds a scan, median of the scans of a process; the files lie in the page cache",
        metrics=metrics,
        goals=goals,
        sides={
            side: sampler(config, side, command, core=None if side == "threads" else 1)
            for side, command in commands.items()
        },
        notes=[
            "pyarrow: ParquetFile.iter_batches(use_threads=False); threads: with its default, on all cores",
            "tensors: rtrain with every batch turned into tensors and offsets",
        ],
    )


def _cifar10():
    if not data.has("cifar10"):
        return []
    folder = os.path.join(os.environ["RTRAIN_DATA"], "cifar10")
    return sorted(
        os.path.join(folder, name)
        for name in os.listdir(folder)
        if name.startswith("train") and name.endswith(".parquet")
    )
