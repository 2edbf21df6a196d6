"""A step of a transformer of 46 million parameters on two ranks, each on its own half of the cores: sharded, compared with
PyTorch's fully_shard over Gloo, and with rtrain's own DistributedDataParallel.
"""

import os

from benchmarks.training.step import TIMEOUT_S, _figures
from harness import sides
from harness.benchmark import Benchmark, Goal, Metric
from harness.job import check_libtorch, pin_threads

NAME = "sharded_step"
REPLICATED, PYTHON = "ddp", "fully_shard"
STEPS, WARM = 9, 2


def build(config):
    settings = {"steps": 3 if config.quick else STEPS, "batch": 2}
    starts = {
        "rtrain": lambda: sides.start_rtrain(config, "sharded.lua", {**settings, "strategy": "fsdp"}),
        REPLICATED: lambda: sides.start_rtrain(config, "sharded.lua", {**settings, "strategy": "ddp"}),
        PYTHON: lambda: sides.start_torchrun(config, "sharded.py", settings, name=PYTHON),
    }
    return Benchmark(
        name=NAME,
        text="milliseconds a step, transformer of 46 million parameters, 2 × 128 tokens a rank, two ranks",
        metrics=[Metric("step", "ms"), Metric("step_mean", "ms", "mean step"), Metric("loss", "", "last loss", 5)],
        goals=[Goal("step", 0.6, PYTHON), Goal("step", 1.05, REPLICATED)],
        sides={side: _sampler(config, start) for side, start in starts.items()},
    )


def _sampler(config, start):
    def sample():
        with start() as job:
            share = os.cpu_count() // 2
            for rank, pid in enumerate(job.wait_for(lambda: _workers(job), "two workers", TIMEOUT_S)):
                check_libtorch(config, job, pid)
                pin_threads(pid, range(rank * share, rank * share + share))
            job.finish(TIMEOUT_S)
            figures = _figures(job.events(0), 1 if config.quick else WARM)
            return {key: figures[key] for key in ("step", "step_mean", "loss")}

    return sample


def _workers(job):
    marks = [job.mark(rank, "model") for rank in range(2)]
    return [mark.pid for mark in marks] if all(marks) else None
