"""A checkpoint of 400 MB from two ranks into an S3 server, compared with Arrow alone uploading the same files."""

import os
import statistics

from harness import object_store, sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.job import Job

NAME = "object_upload"
ARROW = "Arrow"
TIMEOUT_S = 300


def build(config):
    object_store.check(config.torch_python)
    settings = {"reports": 1 if config.quick else 2, "megabytes": 8 if config.quick else 200}
    return Benchmark(
        name=NAME,
        text="seconds until 2 × 200 MB in 8 files are there; rtrain: from report() to the committed checkpoint",
        metrics=[Metric("upload", "s")],
        goals=[Goal("upload", 1.25, ARROW)],
        sides={
            OWN: _sampler(config, lambda variables: _start_rtrain(config, settings, variables)),
            ARROW: _sampler(config, lambda variables: _start_arrow(config, settings, variables)),
        },
        notes=["rtrain also hashes the files and syncs them to this machine's disk"],
    )


def _sampler(config, start):
    def sample():
        with object_store.serving(config.torch_python) as variables, start(variables) as job:
            job.finish(TIMEOUT_S)
            times = [event.value for event in job.events(0) if event.name == "upload"]
        return {"upload": statistics.median(times)}

    return sample


def _start_rtrain(config, settings, variables):
    def command(_, events):
        arguments = [
            config.rtrain,
            "run",
            os.path.join(sides.HERE, "object_upload.lua"),
            "--storage",
            "s3://bench/results",
            "--name",
            "run",
        ]
        for key, value in {**settings, "events": events}.items():
            arguments += ["--set", f"{key}={value}"]
        return arguments

    return Job(OWN, command, {**sides.rtrain_environment(config), **variables})


def _start_arrow(config, settings, variables):
    def command(storage, events):
        arguments = [
            config.torch_python,
            os.path.join(sides.PEERS, "arrow_upload.py"),
            "--uri",
            "s3://bench/arrow",
            "--storage",
            storage,
            "--events",
            events,
        ]
        for key, value in settings.items():
            arguments += [f"--{key}", str(value)]
        return arguments

    return Job(ARROW, command, variables)
