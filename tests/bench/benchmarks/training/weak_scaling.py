"""The step of two ranks compared with that of one rank with the same batch, each rank on its own half of the cores."""

import os

from benchmarks.training.step import QUICK_STEPS, QUICK_WARM, STEPS, TIMEOUT_S, WARM, _figures
from harness import sides
from harness.benchmark import Benchmark, Goal, Metric
from harness.job import pin_threads

NAME = "weak_scaling"
MODEL = "mlp"
ALONE = "one rank"
OF_IDEAL = 0.92


def build(config):
    steps = QUICK_STEPS if config.quick else STEPS[MODEL]
    warm = QUICK_WARM if config.quick else WARM[MODEL]
    settings = {"model": MODEL, "steps": steps, "warm": warm, "batch": config.batch, "data": config.data}
    return Benchmark(
        name=NAME,
        text=f"milliseconds a step, {MODEL}, {config.batch} samples a rank: two ranks take as long as one in the ideal case",
        metrics=[Metric("step", "ms"), Metric("step_mean", "ms", "mean step")],
        goals=[Goal("step", 1 / OF_IDEAL, ALONE)],
        sides={"rtrain": _sampler(config, settings, 2), ALONE: _sampler(config, settings, 1)},
    )


def _sampler(config, settings, ranks):
    def sample():
        with sides.start_rtrain(config, "train.lua", settings, workers=ranks) as job:
            share = os.cpu_count() // 2
            pids = job.wait_for(lambda: _workers(job, ranks), "the workers", TIMEOUT_S)
            for rank, pid in enumerate(pids):
                pin_threads(pid, range(rank * share, rank * share + share))
            job.finish(TIMEOUT_S)
            figures = _figures(job.events(0), settings["warm"])
            return {key: figures[key] for key in ("step", "step_mean")}

    return sample


def _workers(job, ranks):
    marks = [job.mark(rank, "model") for rank in range(ranks)]
    return [mark.pid for mark in marks] if all(marks) else None
