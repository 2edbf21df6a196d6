"""XGBoost's rounds through rtrain compared with Python's package, and training on more rows than fit in memory."""

import os
import subprocess

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import sampler

MEMORY_OF_ROWS_MIB = 4800  # for 5 GB of files: the memory of a program that first reads all rows


def _commands(config, mode, *arguments):
    # XGBoost never uses more threads than OpenMP allows.
    threads = ["env", "OMP_NUM_THREADS=2"]
    return {
        OWN: [*threads, config.rtrain, "exec", os.path.join(sides.HERE, "trees.lua"), mode, *arguments],
        "python": [*threads, config.torch_python, os.path.join(sides.PEERS, "trees.py"), mode, *arguments],
    }


def build(config):
    folder = os.path.join(config.root, "build", "bench")
    file = os.path.join(folder, "trees-quick.npy" if config.quick else "trees.npy")
    if not os.path.exists(file):
        os.makedirs(folder, exist_ok=True)
        peer = [config.torch_python, os.path.join(sides.PEERS, "trees.py")]
        subprocess.run([*peer, "make", file, "20000" if config.quick else "500000"], check=True)
    commands = _commands(config, "train", file, "3" if config.quick else "30")
    return Benchmark(
        name="trees",
        text="XGBoost with two threads on 500,000 rows of 28 features, 30 rounds, within the process",
        metrics=[
            Metric("all", "s", "the three below"),
            Metric("matrix", "s", "QuantileDMatrix of the rows"),
            Metric("rounds", "s", "xgboost.train"),
            Metric("predict", "s", "of the same rows"),
        ],
        goals=[Goal("all", 1.05, "python")],
        sides={side: sampler(config, side, command, core=None) for side, command in commands.items()},
    )


def build_stream(config):
    folder = os.path.join(config.root, "build", "bench", "trees-stream-quick" if config.quick else "trees-stream")
    if not os.path.isdir(folder):
        make = [
            config.rtrain,
            "exec",
            os.path.join(sides.HERE, "trees.lua"),
            "make",
            folder + ".part",
            "0.1" if config.quick else "5",
        ]
        subprocess.run(["rm", "-rf", folder + ".part"], check=True)
        subprocess.run(make, check=True, env={**os.environ, **sides.rtrain_environment(config)})
        os.rename(folder + ".part", folder)  # complete from here on
    commands = _commands(config, "stream", folder, "1" if config.quick else "3")
    return Benchmark(
        name="trees_stream",
        text=f"XGBoost's ExtMemQuantileDMatrix of {'0.1' if config.quick else '5'} GB in Parquet files, 3 rounds, two threads",
        metrics=[
            Metric("peak", "MiB", "resident at most", 0),
            Metric("speed", "MB/s", "rows into bins", 0),
            Metric("round", "s", "a round"),
        ],
        goals=[Goal("peak", MEMORY_OF_ROWS_MIB), Goal("peak", 1.05, "python")],
        sides={side: sampler(config, side, command, core=None) for side, command in commands.items()},
    )
