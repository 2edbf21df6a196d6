"""The VisionTransformer of Ray's document on one GPU: the program in Python, the same in Lua, and the fast variant."""

import itertools
import os
import re
import statistics
import tempfile

from harness import gpu
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric

NAME = "gpu_vit"
FULL = {"limit": 50_000, "test_limit": 10_000, "batch": 512}
QUICK = {"limit": 48, "test_limit": 32, "batch": 16}


def build(config):
    gpu.require_device(config)
    data, is_real = gpu.cifar10(config)
    size = QUICK if config.quick else FULL
    env = gpu.environment(config, data)
    seeds = {side: itertools.count(1) for side in (OWN, "python")}

    def own():
        seed = next(seeds[OWN])
        return {**_recipe(config, env, size, seed), **_fast(config, env, size, seed)}

    def python():
        script = os.path.join(gpu.HERE, "vit_reference.py")
        numbers = [size["limit"], size["test_limit"], size["batch"], next(seeds["python"])]
        text, wall = gpu.run("python", [config.torch_python, script, f"{data}/cifar10", *map(str, numbers)], env)
        found = gpu.rows(text)
        return {"wall": wall, "accuracy": found["accuracy"], "fast": found["epoch"], "fast_accuracy": found["accuracy"]}

    goals = [Goal("wall", 0.70, "python"), Goal("fast", 0.20, "python"), Goal("fast", 2.0)]
    if is_real:
        goals += [
            Goal(f"{key}, mean off python's", 0.02, value=lambda samples, key=key: _gap(samples, key))
            for key in ("accuracy", "fast_accuracy")
        ]
    return Benchmark(
        name=NAME,
        text=f"VisionTransformer on CIFAR-10, one epoch of {size['limit']} images and its evaluation, batch {size['batch']}",
        metrics=[
            Metric("wall", "s", "the program, exec to exit", 2),
            Metric("accuracy", "", "its accuracy", 4),
            Metric("fast", "s", "epoch, evaluation", 2),
            Metric("fast_accuracy", "", "accuracy of fast", 4),
        ],
        goals=goals,
        sides={OWN: own, "python": python},
        rounds=3,
        notes=[
            "wall: examples/single_machine.lua; fast: the epoch of examples/cifar_vit_fast.lua, capture included, next to",
            "that of the Python program",
            *([] if is_real else ["random images: RTRAIN_DATA names no folder with cifar10/"]),
        ],
    )


def _recipe(config, env, size, seed):
    script = os.path.join(config.root, "examples", "single_machine.lua")
    keys = {"limit": size["limit"], "test_limit": size["test_limit"], "batch_size": size["batch"], "seed": seed}
    text, wall = gpu.run(OWN, [config.rtrain, "exec", script, *(f"{key}={value}" for key, value in keys.items())], env)
    return {"wall": wall, "accuracy": _number(text, "accuracy")}


def _fast(config, env, size, seed):
    script = os.path.join(config.root, "examples", "cifar_vit_fast.lua")
    keys = {
        "limit": size["limit"],
        "test_limit": size["test_limit"],
        "batch_size_per_worker": size["batch"],
        "seed": seed,
    }
    settings = [part for key, value in keys.items() for part in ("--set", f"{key}={value}")]
    with tempfile.TemporaryDirectory(prefix="bench-vit-") as storage:
        text, _ = gpu.run(OWN, [config.rtrain, "run", script, "--storage", storage, *settings], env)
    return {"fast": _number(text, "seconds"), "fast_accuracy": _number(text, "accuracy")}


def _number(text, name):
    found = re.findall(rf"\b{name}=([\d.]+)", text)
    if not found:
        raise BenchError(f"{OWN}: no {name}= in its output:\n{text[-1000:]}")
    return float(found[-1])


def _gap(samples, key):
    """Returns None without the peer."""
    if not samples.get("python"):
        return None
    own, python = (statistics.mean(row[key] for row in samples[side]) for side in (OWN, "python"))
    return abs(own - python)
