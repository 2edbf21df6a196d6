"""Epochs of two virtual workers on two processes next to epochs of two plain workers, in turn."""

import os

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import sampler

NETS = ("mlp", "convnet")


def build(config):
    script = os.path.join(sides.HERE, "virtual_workers.lua")
    command = [config.rtrain, "exec", script, "quick" if config.quick else "full"]
    return Benchmark(
        name="virtual_workers",
        text="an epoch of two virtual workers on two processes ÷ that of two plain workers",
        metrics=[Metric(name, "×", f"{name}, virtual / plain", places=3) for name in NETS],
        goals=[Goal(name, 1.03) for name in NETS],
        sides={OWN: sampler(config, OWN, command, core=None)},
    )
