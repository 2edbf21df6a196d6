"""How long the loop is delayed by saving 400 MB without waiting: by the call itself, and by slower steps during the
write.
"""

import os
import statistics

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric
from harness.job import Job

NAME = "async_stall"
STEPS, EVERY = 600, 100
QUICK_STEPS, QUICK_EVERY = 30, 10
TIMEOUT_S = 300


def build(config):
    steps, every = (QUICK_STEPS, QUICK_EVERY) if config.quick else (STEPS, EVERY)
    return Benchmark(
        name=NAME,
        text=f"a save after every {every} steps of about 20 ms on one thread; the first save of a process is left out",
        metrics=[
            Metric("stall", "ms", "the call, median", 1),
            Metric("stall_first", "ms", "the first call", 1),
            Metric("slowdown", "×", "step during the write / step", 4),
        ],
        goals=[Goal("stall", 55), Goal("stall", 0.5, "dcp"), Goal("slowdown", 1 / 0.98)],
        sides={
            "rtrain": lambda: _sample(lambda: _start_rtrain(config, steps, every)),
            "dcp": lambda: _sample(lambda: _start_python(config, steps, every)),
        },
        notes=["dcp: torch.distributed.checkpoint.async_save with its default stager"],
    )


def _start_rtrain(config, steps, every):
    return sides.start_rtrain(config, "async_stall.lua", {"steps": steps, "every": every})


def _start_python(config, steps, every):
    def command(storage, events):
        script = os.path.join(sides.PEERS, "async_stall.py")
        return [config.torch_python, script, events, storage, str(steps), str(every)]

    return Job("dcp", command, {"OMP_NUM_THREADS": "1"})


def _sample(start):
    with start() as job:
        job.finish(TIMEOUT_S)
        events = job.events(0)
    times = {name: [1e3 * e.value for e in events if e.name == name] for name in ("normal", "during", "stall")}
    figures = {"stall": statistics.median(times["stall"][1:]), "stall_first": times["stall"][0]}
    if times["during"]:
        figures["slowdown"] = statistics.median(times["during"]) / statistics.median(times["normal"])
    return figures
