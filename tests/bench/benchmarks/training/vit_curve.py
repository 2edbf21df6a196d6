"""The VisionTransformer of the examples compared with Python's: the losses of 40 steps on CIFAR-10 and the time of a
step.
"""

import os

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.data import require
from harness.single import sampler

NAME = "vit_curve"
STEPS = 40


def build(config):
    require("cifar10")
    steps = 2 if config.quick else STEPS
    python = [config.torch_python, os.path.join(sides.PEERS, "vit_curve.py"), str(steps)]
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "vit_curve.lua"), str(steps)],
        "python": [*python, "fused"],
        "python-default": [*python, "default"],
    }
    return Benchmark(
        name=NAME,
        text=f"VisionTransformer(32, 4, 12, 8, 384, 768, 10), {steps} steps of batch 64 on CIFAR-10, one core",
        metrics=[Metric("step", "s", "seconds a step, median"), Metric(f"loss_{steps - 1:02d}", "", "last loss", 6)],
        goals=[
            Goal("relative difference of the losses", 1e-3, value=_difference),
            Goal("step", 1.0, "python"),
            Goal("step", 1.0, "python-default"),
        ],
        sides={side: sampler(config, side, command) for side, command in commands.items()},
        rounds=1,
        notes=[
            "python: with the fused AdamW, which is the one that rtrain has; python-default rounds elsewhere, and such",
            "differences grow by a factor of about three a step: its losses are not compared",
        ],
    )


def _difference(samples):
    """Returns the largest difference of all steps, or None without the peer."""
    if not samples.get("python"):
        return None
    ours, theirs = samples[OWN][0], samples["python"][0]
    return max(abs(ours[key] - theirs[key]) / abs(theirs[key]) for key in theirs if key.startswith("loss_"))
