"""A worker is stopped (SIGSTOP) during training: when the worker is named, and when the run has ended."""

import os
import signal
import time

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric

NAME = "hang_verdict"
READY_STEP = 50
TIMEOUT_S = 120
EXIT_HANG = 6


def build(config):
    return Benchmark(
        name=NAME,
        text="seconds from SIGSTOP of rank 1, with the default settings; no peer has a verdict",
        metrics=[Metric("named", "s", "rank 1 named", 1), Metric("ended", "s", "run ended", 1)],
        goals=[Goal("named", 36), Goal("ended", 36)],
        sides={"rtrain": lambda: _sample(config)},
        rounds=2,
    )


def _sample(config):
    with sides.start_rtrain(config, "hang.lua", {}) as job:
        job.wait_for(lambda: _is_ready(job), "the first steps", TIMEOUT_S)
        victim = job.events(1)[-1].pid
        stopped = time.monotonic()
        os.kill(victim, signal.SIGSTOP)
        before = len(job.log())
        job.wait_for(lambda: "rank 1" in job.log()[before:], "rank 1's name", TIMEOUT_S, poll_s=0.05)
        named = time.monotonic() - stopped
        status = job.wait_end(TIMEOUT_S)
        if status != EXIT_HANG:
            job.fail(f"ended with status {status}, not {EXIT_HANG}")
        return {"named": named, "ended": time.monotonic() - stopped}


def _is_ready(job):
    return all(job.events(rank) and job.events(rank)[-1].value >= READY_STEP for rank in range(2))
