"""Ten minutes of training in which a worker is killed every minute at random: how much of the time was of use."""

import os
import random
import signal
import time

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric

NAME = "goodput"
DURATION_S, KILL_EVERY_S = 600, 60
QUICK_DURATION_S, QUICK_KILL_EVERY_S = 20, 8
SETTLED_S = 5  # after a kill, until the pace is that of an undisturbed run
TIMEOUT_S = 60
ENDLESS = 1_000_000


def build(config):
    duration, every = (QUICK_DURATION_S, QUICK_KILL_EVERY_S) if config.quick else (DURATION_S, KILL_EVERY_S)
    settings = {"model": "convnet", "steps": ENDLESS, "batch": config.batch, "checkpoint_every": 20, "data": config.data}
    return Benchmark(
        name=NAME,
        text=f"ConvNet, a checkpoint every 20 steps; kill -9 of a random worker in each {every} s",
        metrics=[
            Metric("goodput", "", "steps kept × undisturbed pace / time", 4),
            Metric("kills", "", places=0),
            Metric("lost_steps", "", "steps made again", 0),
        ],
        goals=[Goal("waste", 0.03, value=lambda samples: 1 - min(row["goodput"] for row in samples["rtrain"]))],
        sides={"rtrain": lambda: _sample(config, settings, duration, every)},
        rounds=1,
    )


def _sample(config, settings, duration, every):
    chance = random.Random(0)
    with sides.start_rtrain(config, "train.lua", settings, max_failures=-1) as job:
        job.wait_for(lambda: job.mark(0, "step"), "the first step", TIMEOUT_S)
        begin = time.monotonic()
        kills = []
        while time.monotonic() < begin + duration:
            window = begin + len(kills) * every
            kill_at = window + chance.uniform(0.1, 0.9) * every
            if kill_at > begin + duration:
                break
            _keep_running(job, kill_at)
            victim = job.events(chance.randrange(2))[-1].pid
            os.kill(victim, signal.SIGKILL)
            kills.append(time.monotonic())
            _keep_running(job, min(window + every, begin + duration))
        end = time.monotonic()
        steps = [event for event in job.events(0) if event.name == "step" and event.time <= end]
    return _figures(steps, kills)


def _keep_running(job, until):
    while time.monotonic() < until:
        if not job.is_running():
            job.fail("ended early")
        time.sleep(0.05)


def _figures(steps, kills):
    """The undisturbed pace is that of pairs of steps in one process, some seconds after a kill, checkpoints included."""
    quiet = [
        after.time - before.time
        for before, after in zip(steps, steps[1:])
        if before.pid == after.pid and not any(kill - 1 < after.time < kill + SETTLED_S for kill in kills)
    ]
    pace = sum(quiet) / len(quiet)
    kept = steps[-1].value - steps[0].value
    return {
        "goodput": kept * pace / (steps[-1].time - steps[0].time),
        "kills": len(kills),
        "lost_steps": len(steps) - 1 - kept,
    }
