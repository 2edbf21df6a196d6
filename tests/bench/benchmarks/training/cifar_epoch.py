"""The loader's share of a training epoch on CIFAR-10: compares with the same steps on batches made in advance."""

import os

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.data import require
from harness.single import sampler

NAME = "cifar_epoch"
STEPS = (6, 130)  # of ViT with batch 64, and of ResNet-18 with batch 128: a third of its epoch
QUICK_STEPS = (2, 2)


def build(config):
    require("cifar10")
    steps = QUICK_STEPS if config.quick else STEPS
    script = os.path.join(sides.HERE, "cifar_epoch.lua")

    def side(name, batches):
        return sampler(config, name, [config.rtrain, "exec", script, batches, *map(str, steps)])

    return Benchmark(
        name=NAME,
        text=f"seconds of {steps[0]} steps of ViT with batch 64 and {steps[1]} of ResNet-18 with batch 128, one core",
        metrics=[Metric("vit", "s"), Metric("resnet18", "s")],
        goals=[Goal("vit", 1.02, "premade"), Goal("resnet18", 1.02, "premade")],
        sides={OWN: side(OWN, "loader"), "premade": side("premade", "premade")},
        rounds=3,
        notes=["premade: rtrain with batches that lie in memory"],
    )
