"""One process on one core compared with Python's torch: training steps, optimizer steps, memory over 10,000 steps."""

import os

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import sampler


def build_steps(config):
    return Benchmark(
        name="train_step",
        text="milliseconds a step, median: MLP 3 × 32 with batch 8, ConvNet with batch 64, ResNet-18 with batch 8",
        metrics=[Metric(name, "ms", places=4) for name in ("mlp_sgd", "mlp_adamw", "convnet", "resnet18")],
        goals=[
            Goal("mlp_sgd", 0.70, "python"),
            Goal("mlp_adamw", 0.70, "python"),
            Goal("convnet", 1.0, "python"),
            Goal("resnet18", 1.0, "python"),
        ],
        sides=_sides(config, "steps"),
    )


def build_optimizers(config):
    limits = {"AdamW": 1.0, "Adadelta": 0.9, "RMSprop": 0.9, "NAdam": 0.9, "SGD": 1.0}
    return Benchmark(
        name="optimizers",
        text="milliseconds a step() on 200 tensors of 64 and 64 × 64",
        metrics=[Metric(name, "ms", places=4) for name in limits],
        goals=[Goal(name, limit, "python") for name, limit in limits.items()],
        sides=_sides(config, "optimizers"),
        notes=["python: the fastest of its forms (fused, foreach, one by one); AdamW fused"],
    )


def build_memory_growth(config):
    return Benchmark(
        name="memory_growth",
        text="resident memory over 10,000 steps of the ConvNet with batch 4",
        metrics=[Metric("growth", "×", "end / step 1,000"), Metric("peak", "MiB", places=1)],
        goals=[Goal("growth", 1.02), Goal("peak", 1.10, "python")],
        sides=_sides(config, "memory"),
    )


def _sides(config, part):
    arguments = [part, "quick" if config.quick else "full"]
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "single_process.lua")],
        "python": [config.torch_python, os.path.join(sides.PEERS, "single_process.py")],
    }
    return {side: sampler(config, side, command + arguments) for side, command in commands.items()}
