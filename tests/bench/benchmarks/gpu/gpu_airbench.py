"""A 94 % network on CIFAR-10: examples/cifar_airbench.lua compared with its twin in eager PyTorch, twenty networks
each.
"""

import itertools
import os
import re
import statistics
import tempfile

from harness import gpu
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric

NAME = "gpu_airbench"
ROUNDS, RUNS = 2, 10  # twenty runs for each side
QUICK = {"epochs": 1, "width": 4, "limit": 200, "test_limit": 50, "batch_size": 50, "runs": 1}


def build(config):
    gpu.require_device(config)
    data, is_real = gpu.cifar10(config)
    env = gpu.environment(config, data)
    settings = QUICK if config.quick else {"runs": RUNS}
    rounds = {side: itertools.count() for side in (OWN, "python")}

    def given(side):
        return [f"{key}={value}" for key, value in {**settings, "seed": 1000 * next(rounds[side])}.items()]

    def own():
        script = os.path.join(config.root, "examples", "cifar_airbench.lua")
        flags = [part for text in given(OWN) for part in ("--set", text)]
        with tempfile.TemporaryDirectory(prefix="bench-airbench-") as storage:
            text, _ = gpu.run(OWN, [config.rtrain, "run", script, "--storage", storage, *flags], env)
        found = re.search(r"accuracy ([\d.]+); median ([\d.]+) s", text)
        if not found:
            raise BenchError(f"{OWN}: no mean accuracy in its output:\n{text[-1000:]}")
        return {"error": 100 * (1 - float(found.group(1))), "seconds": float(found.group(2))}

    def python():
        script = os.path.join(gpu.HERE, "airbench.py")
        text, _ = gpu.run("python", [config.torch_python, script, f"{data}/cifar10", *given("python")], env)
        return gpu.rows(text)

    goals = [Goal("seconds", 1.0, "python")]
    if is_real:
        goals.append(
            Goal(
                "mean error of all runs, %",
                6.0,
                value=lambda samples: statistics.mean(row["error"] for row in samples[OWN]),
            )
        )
    return Benchmark(
        name=NAME,
        text=f"training and evaluating a network of 94 %, {ROUNDS * RUNS} times a side",
        metrics=[Metric("seconds", "s", "a network, median"), Metric("error", "% wrong", "mean of the runs", 2)],
        goals=goals,
        sides={OWN: own, "python": python},
        rounds=ROUNDS,
        notes=[
            "images that were stored as JPEG files have lost detail: there the error of the Python side is the measure"
        ]
        if is_real
        else ["random images: RTRAIN_DATA names no folder with cifar10/"],
    )
