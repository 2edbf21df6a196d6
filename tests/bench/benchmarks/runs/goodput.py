"""Ten minutes of training in which a random worker is killed every minute or every fifteen seconds: the useful share of
the time.
"""

import math
import os
import random
import signal
import time

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric

NAME, OFTEN_NAME = "goodput", "goodput_often"
DURATION_S, KILL_EVERY_S, KILL_OFTEN_S = 600, 60, 15
QUICK_DURATION_S, QUICK_KILL_EVERY_S = 24, 8
SETTLED_S = 5  # after a kill, until the pace is that of an undisturbed run
TIMEOUT_S = 180
ENDLESS = 1_000_000
METRICS = [
    Metric("goodput", "", "steps kept × undisturbed pace / time", 4),
    Metric("kills", "", places=0),
    Metric("lost_steps", "", "steps made again", 0),
]


def build(config):
    duration, every = (QUICK_DURATION_S, QUICK_KILL_EVERY_S) if config.quick else (DURATION_S, KILL_EVERY_S)
    settings = {
        "model": "convnet",
        "steps": ENDLESS,
        "batch": config.batch,
        "checkpoint_every": 20,
        "data": config.data,
    }
    return Benchmark(
        name=NAME,
        text=f"ConvNet, a checkpoint every 20 steps; kill -9 of a random worker in each {every} s",
        metrics=METRICS,
        goals=[_most_waste(0.03)],
        sides={
            "rtrain": _sampler(
                lambda: sides.start_rtrain(config, "train.lua", settings, max_failures=-1), duration, every
            )
        },
        rounds=1,
    )


def build_often(config):
    duration, every = (QUICK_DURATION_S, QUICK_KILL_EVERY_S) if config.quick else (DURATION_S, KILL_OFTEN_S)
    settings = {
        "model": "convnet",
        "steps": ENDLESS,
        "batch": config.batch,
        "checkpoint_every": 20,
        "data": config.data,
    }
    healed = {**settings, "checkpoint_every": 0}
    starts, skipped = sides.all_sides(config, "train", lambda side: settings, max_failures=1000)
    starts = {
        "rtrain": lambda: sides.start_rtrain(config, "train.lua", {**healed, "elastic": "true"}),
        "restart": starts["rtrain"],
        **{side: start for side, start in starts.items() if side != "rtrain"},
    }
    samplers = {side: _sampler(start, duration, every) for side, start in starts.items()}
    if config.torchft_missing:
        skipped = {**skipped, "torchft": config.torchft_missing}
    else:
        samplers["torchft"] = _sampler(lambda: sides.start_torchft(config, healed), duration, every, _replica_figures)
    return Benchmark(
        name=OFTEN_NAME,
        text=f"ConvNet; kill -9 of a random worker in each {every} s of {duration}",
        metrics=METRICS,
        goals=[_most_waste(0.02)],
        sides=samplers,
        rounds=1,
        skipped=skipped,
        notes=[
            "rtrain: train.elastic, without checkpoints; restart and the others: one every 20 steps",
            "torchft: a step of one replica alone counts half; the pace is that before the first kill",
        ],
    )


def _most_waste(limit):
    return Goal("waste", limit, value=lambda samples: 1 - min(row["goodput"] for row in samples["rtrain"]))


def _sampler(start, duration, every, figures=None):
    def sample():
        chance = random.Random(0)
        with start() as job:
            job.wait_for(lambda: all(job.mark(rank, "step") for rank in range(2)), "the first steps", TIMEOUT_S)
            begin = time.monotonic()
            kills = []
            for window in range(1, int(duration / every)):  # no worker is killed in the first one
                _keep_running(job, begin + (window + chance.uniform(0.1, 0.9)) * every)
                if _kill(job.events(chance.randrange(2))[-1].pid):
                    kills.append(time.monotonic())
            _keep_running(job, begin + duration)
            end = time.monotonic()
            steps = [
                [event for event in job.events(rank) if event.name == "step" and begin <= event.time <= end]
                for rank in range(2)
            ]
        return (figures or _figures)(steps, kills, end - begin)

    return sample


def _kill(pid):
    """Returns False if the worker has not been replaced since the last kill."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _keep_running(job, until):
    while time.monotonic() < until:
        if not job.is_running():
            job.fail("ended early")
        time.sleep(0.05)


def _pace(steps, kills, settled_s):
    """Returns the mean time of undisturbed pairs of steps in one process, some seconds after a kill, checkpoints
    included.
    """
    quiet = [
        after.time - before.time
        for before, after in zip(steps, steps[1:])
        if before.pid == after.pid and not any(kill - 1 < after.time < kill + settled_s for kill in kills)
    ]
    return sum(quiet) / len(quiet)


def _figures(steps, kills, duration):
    steps = steps[0]
    kept = steps[-1].value - steps[0].value
    goodput = kept * _pace(steps, kills, SETTLED_S) / duration
    return {"goodput": goodput, "kills": len(kills), "lost_steps": len(steps) - 1 - kept}


def _replica_figures(steps, kills, duration):
    kept = sum(len(each) for each in steps) / len(steps)
    return {"goodput": kept * _pace(steps[0], kills, math.inf) / duration, "kills": len(kills), "lost_steps": 0}
