"""Whole epochs from exec to exit: start, data, training with two workers, and a report with a checkpoint after each
epoch.
"""

import math

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric

SAMPLES = 60_000
EPOCHS = {"convnet": 1, "mlp": 3}
GOALS = {"convnet": (0.75, 0.50), "mlp": (0.50, 0.20)}  # relative to torchrun, to Ray
QUICK_STEPS = 12
TIMEOUT_S = 600


def build_convnet(config):
    return _build(config, "convnet")


def build_mlp(config):
    return _build(config, "mlp")


def _build(config, model):
    epoch = QUICK_STEPS if config.quick else math.ceil(SAMPLES / (2 * config.batch))
    settings = {"model": model, "steps": EPOCHS[model] * epoch, "checkpoint_every": epoch, "batch": config.batch}
    settings["data"] = config.data
    starts, skipped = sides.all_sides(config, "train", lambda side: settings)
    of_torchrun, of_ray = GOALS[model]
    return Benchmark(
        name=f"epochs_{model}",
        text=f"seconds from exec to exit, {model}, {EPOCHS[model]} × {epoch} steps of 2 × {config.batch}",
        metrics=[Metric("exit", "s"), Metric("start", "s", "until the first step"), Metric("loss", "", "last loss", 5)],
        goals=[Goal("exit", of_torchrun, "torchrun"), Goal("exit", of_ray, "ray")],
        sides={side: _sampler(start) for side, start in starts.items()},
        skipped=skipped,
    )


def _sampler(start):
    def sample():
        with start() as job:
            ended = job.finish(TIMEOUT_S)
            first = max(job.mark(rank, "step").time for rank in range(2))
            return {"exit": ended, "start": first - job.started, "loss": job.mark(0, "loss").value}

    return sample
