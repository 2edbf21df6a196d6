"""train.report(): how long it delays its caller, and when another process can read the report."""

import time

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric
from harness.stats import percentile
from harness.store import visible_reports

NAME = "report"
COUNTS = {"rtrain": 2000, "torchrun": 2000, "ray": 5}
GAP_S = 0.2
SPACED = 15
TIMEOUT_S = 120


def build(config):
    def settings(side):
        reports = 5 if config.quick else COUNTS[side]
        return {"reports": reports, "spaced": 0 if side == "ray" else SPACED, "gap": GAP_S}

    starts, skipped = sides.all_sides(config, "report", settings)
    return Benchmark(
        name=NAME,
        text="8 numbers, 2 workers, no checkpoint; torchrun by hand: a line of JSON and a barrier",
        metrics=[
            Metric("p50", "us", "caller waits, p50", 1),
            Metric("p99", "us", "caller waits, p99", 1),
            Metric("visible", "ms", "until visible, median", 1),
            Metric("visible_most", "ms", "until visible, most", 1),
        ],
        goals=[Goal("p50", 15), Goal("p99", 150), Goal("visible_most", 50)],
        sides={side: _sampler(side, start, settings(side)) for side, start in starts.items()},
        skipped=skipped,
    )


def _sampler(side, start, settings):
    return sampler(start, settings, 0, lambda storage: visible_reports(side, storage))


def sampler(start, settings, rank, visible):
    """Returns a sampler for this rank; visible(storage) counts its reports."""
    first = settings["reports"]

    def sample():
        with start() as job:
            seen = {}
            while job.is_running() and len(seen) < settings["spaced"]:
                _note_new_reports(seen, visible, job, first, rank)
                time.sleep(0.001)
            job.finish(TIMEOUT_S)
            events = job.events(rank)
        latencies = [1e6 * event.value for event in events if event.name == "latency"]
        figures = {"p50": percentile(latencies, 0.5), "p99": percentile(latencies, 0.99)}
        reported = {int(event.value): event.time for event in events if event.name == "spaced"}
        delays = [1e3 * (seen[index] - reported[index]) for index in seen if index in reported]
        if delays:
            figures.update(visible=percentile(delays, 0.5), visible_most=max(delays))
        return figures

    return sample


def _note_new_reports(seen, visible, job, first, rank):
    """Notes when reports become visible. Starts only when reports come one at a time, because reading would disturb the
    first ones.
    """
    if not job.mark(rank, "spaced"):
        return
    for index in range(first, visible(job.storage)):
        seen.setdefault(index, time.monotonic())
