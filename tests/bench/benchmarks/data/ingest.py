"""How long two ranks on one core wait for JPEG images that are decoded in the loop, or by ingest workers on another
core or node.
"""

import os
import statistics

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric, Skipped

NAME = "ingest"
BATCHES, QUICK_BATCHES = 60, 10
TIMEOUT_S = 300


def build(config):
    if not {0, 1} <= os.sched_getaffinity(0):
        raise Skipped("needs cores 0 and 1")
    batches = QUICK_BATCHES if config.quick else BATCHES
    return Benchmark(
        name=NAME,
        text=(
            f"{batches} steps of 100 ms, a simulated device, with 20 JPEG images of 512 × 512 each; "
            "20 before them are left out"
        ),
        metrics=[Metric("stall", "%", "time between two steps, of both ranks", 1)],
        goals=[Goal("stall", 5), Goal("stall", 5 / 30, "loop")],
        sides={
            OWN: lambda: _sample(sides.start_rtrain_on_two_nodes, config, 1, batches),
            "one node": lambda: _sample(sides.start_rtrain, config, 1, batches),
            "loop": lambda: _sample(sides.start_rtrain, config, 0, batches),
        },
        notes=[
            "both ranks are on one node; rtrain: the ingest workers are on another one, over TLS",
            "loop: prefetch_batches = 0, without ingest workers",
        ],
    )


def _sample(start, config, ingest, batches):
    with start(config, "ingest.lua", {"ingest": ingest, "batches": batches}) as job:
        job.finish(TIMEOUT_S)
        stalls = [event.value for rank in (0, 1) for event in job.events(rank) if event.name == "stall"]
    return {"stall": 100 * statistics.mean(stalls)}
