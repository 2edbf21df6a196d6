"""The gain of train.graph: steps of a ConvNet and of a VisionTransformer with and without it, in one process."""

import os
import statistics

from harness import gpu
from harness.benchmark import OWN, Benchmark, Goal, Metric

NAME = "gpu_graphs"
STEPS, REPEATS = 100, 7
LIMITS = {"convnet": 1 / 2, "vit": 1 / 1.3}


def build(config):
    gpu.require_device(config)
    arguments = ["1", "1"] if config.quick else [str(STEPS), str(REPEATS)]
    env = gpu.environment(config, os.environ.get("RTRAIN_DATA", ""))
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(gpu.HERE, "graphs.lua")],
        "python": [config.torch_python, os.path.join(gpu.HERE, "graphs.py")],
    }

    def sampler(side):
        return lambda: gpu.rows(gpu.run(side, commands[side] + arguments, env)[0])

    forms = [f"{model}_{form}" for model in LIMITS for form in ("eager", "graph")]
    return Benchmark(
        name=NAME,
        text="milliseconds a step: MNIST's ConvNet with batch 128 and Adadelta, VisionTransformer with batch 64 and AdamW",
        metrics=[Metric(form, "ms", places=4) for form in forms],
        goals=[
            Goal(f"{model}: graph / eager", limit, value=lambda samples, model=model: _gain(samples, model))
            for model, limit in LIMITS.items()
        ]
        + [Goal(form, 1.0, "python") for form in forms],
        sides={side: sampler(side) for side in commands},
        rounds=3,
    )


def _gain(samples, model):
    graph, eager = (statistics.median(row[f"{model}_{form}"] for row in samples[OWN]) for form in ("graph", "eager"))
    return graph / eager
