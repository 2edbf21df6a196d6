"""Training on 3 GB of Parquet files: memory, and rows per second."""

import os
import subprocess

from harness import data, sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import sampler

NAME = "stream"


def build(config):
    script = os.path.join(sides.HERE, "stream.lua")
    folder = os.path.join(config.root, "build", "bench", "stream-quick" if config.quick else "stream")
    if not os.path.isdir(folder):
        _make(config, script, folder)
    return Benchmark(
        name=NAME,
        text=f"one epoch of batches of 128 from {'0.2' if config.quick else '3'} GB of float images in Parquet files",
        metrics=[
            Metric("train_peak", "MiB", "resident at most, with a small ConvNet", 0),
            Metric("train_speed", "MB/s", "with a small ConvNet", 0),
        ],
        goals=[Goal("train_peak", 600)],
        sides={OWN: sampler(config, OWN, [config.rtrain, "exec", script, "train", folder], core=None)},
        notes=["the rows are CIFAR-10's as float32 where $RTRAIN_DATA has it, else drawn"],
    )


def _make(config, script, folder):
    """Writes the data under a temporary name until it is complete."""
    command = [config.rtrain, "exec", script, "make", folder + ".part", "0.2" if config.quick else "3"]
    if data.has("cifar10"):
        command.append(os.path.join(os.environ["RTRAIN_DATA"], "cifar10"))
    environment = {**os.environ, **sides.rtrain_environment(config)}
    subprocess.run(["rm", "-rf", folder + ".part"], check=True)
    subprocess.run(command, check=True, env=environment)
    os.rename(folder + ".part", folder)
