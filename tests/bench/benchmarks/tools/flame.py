"""The sampling profiler of `rtrain profile --flame`: its processor time compared with that of the observed steps."""

import json
import subprocess

from harness import sides
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric

NAME = "flame"
MODELS = ("mlp", "convnet")
SECONDS, QUICK_SECONDS = 10, 2
STEPS = 1_000_000  # more steps than the time allows
READY_STEP = 20
TIMEOUT_S = 120


def build(config):
    seconds = QUICK_SECONDS if config.quick else SECONDS
    return Benchmark(
        name=NAME,
        text=f"rank 0 of two in a recording of {seconds} s at 100 Hz: processor time of the sampling as a part of that of "
        "the rest of the process; the names of the functions and the file are in it",
        metrics=[
            metric
            for model in MODELS
            for metric in (Metric(model, "%", places=2), Metric(f"{model}_samples", "", places=0))
        ],
        goals=[Goal(model, 1) for model in MODELS],
        sides={OWN: lambda: _sample(config, seconds)},
    )


def _sample(config, seconds):
    figures = {}
    for model in MODELS:
        settings = {"model": model, "steps": STEPS, "batch": config.batch, "data": config.data}
        with sides.start_rtrain(config, "train.lua", settings) as job:
            job.wait_for(
                lambda: any(e.name == "step" and e.value >= READY_STEP for e in job.events(0)),
                "the first steps",
                TIMEOUT_S,
            )
            profile = _record(config, job, seconds)
        figures[model] = 100 * profile["cost_s"] / (profile["cpu_s"] - profile["cost_s"])
        figures[f"{model}_samples"] = profile["events"]
    return figures


def _record(config, job, seconds):
    command = [
        config.rtrain,
        "profile",
        "run",
        "--storage",
        job.storage,
        "--flame",
        "--seconds",
        str(seconds),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise BenchError(f"rtrain profile: {done.stderr[-2000:]}")
    (profile,) = json.loads(done.stdout)["profiles"]
    return profile
