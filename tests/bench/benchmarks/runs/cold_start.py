"""From exec to the first report that another process can read: 2 workers, data, one step, a checkpoint."""

import time

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric
from harness.store import visible_reports

NAME = "cold_start"
PHASES = ["train_fn", "data", "model", "step", "reported"]
TIMEOUT_S = 120


def build(config):
    settings = {"model": "convnet", "steps": 1, "batch": config.batch, "data": config.data}
    starts, skipped = sides.all_sides(config, "train", lambda side: settings)
    phases = [Metric(phase, "s", f"{phase} on all ranks") for phase in PHASES]
    return Benchmark(
        name=NAME,
        text="seconds from exec until a phase has ended",
        metrics=[*phases, Metric("visible", "s", "report visible"), Metric("exit", "s")],
        goals=[Goal("visible", 0.12, "torchrun"), Goal("visible", 0.022, "ray")],
        sides={side: sampler(side, start) for side, start in starts.items()},
        warm_up=not config.quick,
        skipped=skipped,
    )


def sampler(side, start, phases=PHASES):
    def sample():
        with start() as job:
            job.wait_for(lambda: visible_reports(side, job.storage), "a report", TIMEOUT_S)
            visible = time.monotonic() - job.started
            ended = job.finish(TIMEOUT_S)
            return {**_phases(job, phases), "visible": visible, "exit": ended}

    return sample


def _phases(job, phases):
    found = {}
    for phase in phases:
        marks = [job.mark(rank, phase) for rank in range(2)]
        if all(marks):
            found[phase] = max(mark.time for mark in marks) - job.started
    return found
