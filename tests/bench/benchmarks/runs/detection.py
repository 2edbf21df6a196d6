"""How soon a killed worker is noticed: from kill -9 to the line that names the dead rank and ends the group.

The cause of death comes later, with the exit status: until then the kernel frees the worker's memory.
"""

import os
import signal
import time

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric
from harness.stats import percentile

NAME = "detection"
KILLS = 20
TIMEOUT_S = 60
ENDLESS = 1_000_000


def build(config):
    kills = 2 if config.quick else KILLS
    settings = {"model": "mlp", "steps": ENDLESS, "batch": config.batch, "checkpoint_every": 5, "data": config.data}
    return Benchmark(
        name=NAME,
        text=f"{kills} kills a round, one after the other, of rank 0 and rank 1 in turn",
        metrics=[Metric("p50", "ms", "noticed, p50", 2), Metric("worst", "ms", "noticed, worst of a round", 2)],
        goals=[Goal("p50", 50), Goal("worst", 50)],
        sides={"rtrain": lambda: _sample(config, settings, kills)},
        notes=["torchrun and Ray Train: see kill_recovery, one kill a round"],
    )


def _sample(config, settings, kills):
    delays = []
    with sides.start_rtrain(config, "train.lua", settings, max_failures=-1) as job:
        old = set()
        for attempt in range(1, kills + 1):
            # Kills after a checkpoint: the next attempt begins without a delay.
            pids = job.wait_for(lambda: _workers(job, old), f"attempt {attempt}", TIMEOUT_S, poll_s=0.02)
            old.update(pids)
            killed = time.monotonic()
            os.kill(pids[attempt % 2], signal.SIGKILL)
            job.wait_for(
                lambda: f"(pid {pids[attempt % 2]}) has died" in job.log(), "the notice", TIMEOUT_S, poll_s=0.0005
            )
            delays.append(1e3 * (time.monotonic() - killed))
    return {"p50": percentile(delays, 0.5), "worst": max(delays)}


def _workers(job, old):
    """Returns the new attempt's pids by rank, once both ranks have reported."""
    pids = []
    for rank in range(2):
        new = [event.pid for event in job.events(rank) if event.name == "reported" and event.pid not in old]
        pids.append(new[-1] if new else None)
    return pids if all(pids) else None
