"""A report with a checkpoint of 10 MB: save, report and commit, until rank 0 continues."""

import statistics

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric

NAME = "checkpoint_report"
COUNTS = {"rtrain": 20, "torchrun": 20, "ray": 5}
TIMEOUT_S = 120


def build(config):
    def settings(side):
        return {"reports": 3 if config.quick else COUNTS[side], "megabytes": 10}

    starts, skipped = sides.all_sides(config, NAME, settings)
    return Benchmark(
        name=NAME,
        text="milliseconds from before torch.save to after report(), rank 0 of 2, median",
        metrics=[Metric("report", "ms", places=1)],
        goals=[Goal("report", 0.1, "ray")],
        sides={side: _sampler(start) for side, start in starts.items()},
        skipped=skipped,
        notes=[
            "rtrain: hashed, synced to the disk, registered; torchrun by hand: a rename, a line of JSON, a barrier, no sync"
        ],
    )


def _sampler(start):
    def sample():
        with start() as job:
            job.finish(TIMEOUT_S)
            times = [1e3 * event.value for event in job.events(0) if event.name == "report"]
        return {"report": statistics.median(times[1:])}

    return sample
