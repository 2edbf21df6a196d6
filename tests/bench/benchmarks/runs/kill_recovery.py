"""kill -9 of a worker during training: time until both ranks have made a new step."""

import os
import signal
import time

from harness import sides
from harness.benchmark import Benchmark, Goal, Metric

NAME = "kill_recovery"
# The text in each side's log that shows that the side has noticed the death.
NOTICES = {"rtrain": "attempt 1 failed", "torchrun": "failed (exitcode: -9)", "ray": "[FailurePolicy]"}
PHASES = {"train_fn": "train function", "data": "data read", "model": "state restored", "step": "new step"}
TIMEOUT_S = 180
ENDLESS = 1_000_000


def build(config):
    settings = {"model": "convnet", "steps": ENDLESS, "batch": config.batch, "checkpoint_every": 10}
    settings["data"] = config.data
    kill_at = 12 if config.quick else 25
    starts, skipped = sides.all_sides(config, "train", lambda side: settings, max_failures=3)
    return Benchmark(
        name=NAME,
        text=f"seconds from kill -9 of rank 1 at step {kill_at} until both ranks are so far",
        metrics=[
            Metric("noticed", "s", "death noticed"),
            *(Metric(key, "s", text) for key, text in PHASES.items()),
            Metric("lost_steps", "steps", places=0),
        ],
        goals=[Goal("step", 0.13, "torchrun"), Goal("step", 0.045, "ray")],
        sides={side: _sampler(side, start, kill_at) for side, start in starts.items()},
        skipped=skipped,
        notes=["torchrun has a store of its own for every attempt here: by default its restarts fail with Gloo"],
    )


def _sampler(side, start, kill_at):
    def sample():
        with start() as job:
            job.wait_for(lambda: _least_step(job) >= kill_at, f"step {kill_at}", TIMEOUT_S)
            old = {event.pid for rank in range(2) for event in job.events(rank)}
            victim = job.events(1)[-1]
            killed = time.monotonic()
            os.kill(victim.pid, signal.SIGKILL)
            job.wait_for(lambda: NOTICES[side] in job.log(), "the death's notice", TIMEOUT_S)
            noticed = time.monotonic() - killed
            job.wait_for(lambda: _new_marks(job, "step", old), "a new step", TIMEOUT_S, poll_s=0.01)
            figures = {name: max(m.time for m in _new_marks(job, name, old)) - killed for name in PHASES}
            resumed_at = _new_marks(job, "model", old)[0].value
            figures["stall"] = longest_stall(job, killed)
            return {"noticed": noticed, **figures, "lost_steps": victim.value - resumed_at}

    return sample


def longest_stall(job, killed):
    """Returns the longest time without a step of rank 0, even if the steps come from two processes."""
    times = [event.time for event in job.events(0) if event.name == "step"]
    first = max(0, sum(time_ < killed for time_ in times) - 1)
    return max(after - before for before, after in zip(times[first:], times[first + 1 :]))


def _least_step(job):
    steps = [max((e.value for e in job.events(rank) if e.name == "step"), default=0) for rank in range(2)]
    return min(steps)


def _new_marks(job, name, old_pids):
    """Returns the first event of this name of each rank in a new process, or None while a rank has not made one."""
    marks = []
    for rank in range(2):
        new = (e for e in job.events(rank) if e.name == name and e.pid not in old_pids)
        marks.append(next(new, None))
    return marks if all(marks) else None
