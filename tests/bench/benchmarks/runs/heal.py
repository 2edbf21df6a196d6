"""kill -9 of a worker in train.elastic: time until both ranks have made a new step, compared with a restart, the peers'
restarts, and torchft, which also continues without a restart.
"""

import os
import signal
import time

from benchmarks.runs.kill_recovery import ENDLESS, PHASES, TIMEOUT_S, _least_step, _sampler, longest_stall
from harness import sides
from harness.benchmark import Benchmark, Goal, Metric

NAME = "heal"
NOTICE = "it is replaced"
TORCHFT_LIMIT = 0.1


def build(config):
    settings = {"model": "convnet", "steps": ENDLESS, "batch": config.batch, "checkpoint_every": 10}
    settings["data"] = config.data
    kill_at = 12 if config.quick else 25
    heal_at = 12 if config.quick else 100  # the spare is there by then
    starts, skipped = sides.all_sides(config, "train", lambda side: settings, max_failures=3)
    healed = {**settings, "checkpoint_every": 0, "elastic": "true"}
    return Benchmark(
        name=NAME,
        text=f"seconds from kill -9 of rank 1 at step {kill_at} until both ranks have made a new step",
        metrics=[
            Metric("noticed", "s", "death noticed"),
            *(Metric(key, "s", text) for key, text in PHASES.items()),
            Metric("stall", "s", "rank 0 without a step"),
            Metric("lost_steps", "steps", places=0),
        ],
        goals=[
            Goal("lost_steps", 0),
            Goal("step", 0.06, "torchrun"),
            Goal("step", 0.02, "ray"),
            *(Goal(metric, TORCHFT_LIMIT, "torchft") for metric in ("stall", "step")),
            Goal("stall", TORCHFT_LIMIT, "ray"),
        ],
        sides={
            "rtrain": _healed(lambda: sides.start_rtrain(config, "train.lua", healed), heal_at),
            "restart": _sampler("rtrain", starts["rtrain"], kill_at),
            **{side: _sampler(side, start, kill_at) for side, start in starts.items() if side != "rtrain"},
            **({} if config.torchft_missing else {"torchft": _torchft(config, kill_at)}),
        },
        skipped={**skipped, **({"torchft": config.torchft_missing} if config.torchft_missing else {})},
        notes=[
            f"rtrain: the kill is at step {heal_at}, when the spare has read the data",
            "restart: rtrain without train.elastic, from a checkpoint of every tenth step",
            "torchft: two replicas, each started again by a torchrun; the living one goes on alone, a batch may be skipped",
        ],
    )


def _torchft(config, kill_at):
    settings = {"model": "convnet", "steps": ENDLESS, "batch": config.batch, "data": config.data}

    def sample():
        with sides.start_torchft(config, settings) as job:
            job.wait_for(lambda: _least_step(job) >= kill_at, f"step {kill_at}", TIMEOUT_S)
            old = job.events(1)[-1].pid
            killed = time.monotonic()
            os.kill(old, signal.SIGKILL)
            job.wait_for(lambda: _first_of(job, "step", old), "a step of the new replica", TIMEOUT_S, poll_s=0.01)
            steps = job.wait_for(lambda: _next_steps(job, killed), "a step of both", TIMEOUT_S, poll_s=0.01)
            figures = {name: _first_of(job, name, old).time - killed for name in ("train_fn", "data")}
            joined = max(_first_of(job, "step", old).time, steps[0].time)
            return {**figures, "stall": longest_stall(job, killed), "step": joined - killed}

    return sample


def _first_of(job, name, old):
    """Returns rank 1's first event of this name in a process other than `old`."""
    return next((event for event in job.events(1) if event.name == name and event.pid != old), None)


def _healed(start, kill_at):
    def sample():
        with start() as job:
            job.wait_for(lambda: _least_step(job) >= kill_at, f"step {kill_at}", TIMEOUT_S)
            victim = job.events(1)[-1]
            killed = time.monotonic()
            os.kill(victim.pid, signal.SIGKILL)
            job.wait_for(lambda: NOTICE in job.log(), "the death's notice", TIMEOUT_S)
            noticed = time.monotonic() - killed
            job.wait_for(lambda: _next_steps(job, killed), "a new step", TIMEOUT_S, poll_s=0.01)
            new = {event.name: event.time - killed for event in reversed(job.events(1)) if event.pid != victim.pid}
            steps = _next_steps(job, killed)
            figures = {**{name: new[name] for name in PHASES}, "step": max(step.time for step in steps) - killed}
            last = max(event.value for event in job.events(1) if event.pid == victim.pid and event.name == "step")
            figures["stall"] = longest_stall(job, killed)
            return {"noticed": noticed, **figures, "lost_steps": last + 1 - steps[1].value}

    return sample


def _next_steps(job, killed):
    """Returns the first step of each rank after the kill, or None while a rank has not made one."""
    steps = [next((e for e in job.events(rank) if e.name == "step" and e.time > killed), None) for rank in range(2)]
    return steps if all(steps) else None
