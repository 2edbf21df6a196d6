"""The steady training step of two workers under DistributedDataParallel, 2 × 64 samples, each rank on its own half of
the cores: compared with torchrun, and with C++ that calls LibTorch's reducer directly.
"""

import os
import statistics

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.built import build_target
from harness.job import Job, check_libtorch, pin_threads
from harness.stats import ratio_interval

NAME = "step"
PARTS = ["load", "forward", "backward", "update"]
STEPS = {"convnet": 120, "mlp": 1000}
WARM = {"convnet": 20, "mlp": 100}
GOALS = {"convnet": 0.82, "mlp": 0.60}
TUNED_GOALS = {"convnet": 0.96, "mlp": 0.60}
FLOORS = {"c++ shm": "shm", "c++ gloo": "gloo"}
FLOOR, FLOOR_LIMIT = "c++ shm", 1.02
QUICK_STEPS, QUICK_WARM = 12, 2
TIMEOUT_S = 300


def build_convnet(config):
    return _build(config, "convnet")


def build_mlp(config):
    return _build(config, "mlp")


def _build(config, model):
    steps = QUICK_STEPS if config.quick else STEPS[model]
    warm = QUICK_WARM if config.quick else WARM[model]
    settings = {"model": model, "steps": steps, "warm": warm, "batch": config.batch, "data": config.data}
    script = "torchrun_train.py"
    starts = {
        "rtrain": lambda: sides.start_rtrain(config, "train.lua", settings),
        "torchrun": lambda: sides.start_torchrun(config, script, settings),
        "torchrun+malloc": lambda: sides.start_torchrun(config, script, settings, environment=sides.NO_TRIM),
        **{side: _floor(config, backend, settings) for side, backend in FLOORS.items()},
    }
    parts = [Metric(f"part_{part}", "ms", f"of it {part}") for part in PARTS]
    return Benchmark(
        name=f"step_{model}",
        text=f"milliseconds a step, {model}, median over {steps - warm} steps of rank 0",
        metrics=[
            Metric("step", "ms"),
            Metric("step_mean", "ms", "mean step"),
            *parts,
            Metric("loss", "", "last loss", 5),
        ],
        goals=[
            Goal("step", GOALS[model], "torchrun"),
            Goal("step", TUNED_GOALS[model], "torchrun+malloc"),
            Goal("upper end of the ratio to c++ shm", FLOOR_LIMIT, value=_above_floor),
        ],
        sides={side: _sampler(config, start, warm) for side, start in starts.items()},
        notes=[
            "torchrun+malloc: glibc told not to give memory back, as rtrain does by default",
            "c++: ddp_floor/, the same operators, order of data, allocator and reducer over that backend, and nothing else",
        ],
    )


def _floor(config, backend, settings):
    """Two processes of ddp_floor/, which mark the same moments."""
    program = build_target(config, "ddp_floor")
    arguments = [str(settings[key]) for key in ("model", "steps", "warm", "batch", "data")]

    def start():
        return Job(
            "floor", lambda _, events: [program, backend, *arguments, events], {"OMP_NUM_THREADS": str(config.threads)}
        )

    return start


def _above_floor(samples):
    if FLOOR not in samples:
        return None
    return ratio_interval([row["step"] for row in samples[OWN]], [row["step"] for row in samples[FLOOR]])[1]


def _sampler(config, start, warm):
    def sample():
        with start() as job:
            share = os.cpu_count() // 2
            workers = job.wait_for(lambda: _workers(job), "two workers", TIMEOUT_S)
            for rank, pid in enumerate(workers):
                check_libtorch(config, job, pid)
                pin_threads(pid, range(rank * share, rank * share + share))
            job.finish(TIMEOUT_S)
            return _figures(job.events(0), warm)

    return sample


def _workers(job):
    marks = [job.mark(rank, "model") for rank in range(2)]
    return [mark.pid for mark in marks] if all(marks) else None


def _figures(events, warm):
    times = [event.time for event in events if event.name == "step"][warm:]
    gaps = [1e3 * (after - before) for before, after in zip(times, times[1:])]
    figures = {event.name: 1e3 * event.value for event in events if event.name.startswith("part_")}
    loss = next(event.value for event in events if event.name == "loss")
    return {"step": statistics.median(gaps), "step_mean": statistics.mean(gaps), "loss": loss, **figures}
