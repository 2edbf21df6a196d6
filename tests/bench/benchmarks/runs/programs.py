"""A Python program under `rtrain launch`, compared with the same program under torchrun."""

from benchmarks.runs import cold_start, report
from harness import sides
from harness.benchmark import Benchmark, Goal, Metric

START_NAME, REPORT_NAME = "program_start", "program_report"


def build_start(config):
    settings = {"model": "convnet", "steps": 1, "batch": config.batch, "data": config.data}
    starts = _starts(config, "train", settings)
    return Benchmark(
        name=START_NAME,
        text="seconds from exec until a phase of a Python program has ended; most of it is Python's import of torch",
        metrics=[
            *(Metric(phase, "s", f"{phase} on all ranks") for phase in ("main", "group", *cold_start.PHASES)),
            Metric("visible", "s", "report visible"),
            Metric("exit", "s"),
        ],
        goals=[Goal("visible", 1.05, "torchrun")],
        sides={
            side: cold_start.sampler(side, start, ("main", "group", *cold_start.PHASES))
            for side, start in starts.items()
        },
        warm_up=not config.quick,
    )


def build_report(config):
    settings = {"reports": 5 if config.quick else 2000, "spaced": 0}
    starts = _starts(config, "report", settings)
    return Benchmark(
        name=REPORT_NAME,
        text=(
            "report() of a Python program: 8 numbers, 2 workers, no checkpoint; "
            "torchrun by hand: a line of JSON and a barrier"
        ),
        metrics=[Metric("p50", "us", "caller waits, p50", 1), Metric("p99", "us", "caller waits, p99", 1)],
        goals=[Goal("p50", 30)],
        sides={side: report.sampler(start, settings, 0, None) for side, start in starts.items()},
    )


def _starts(config, program, settings):
    return {
        "rtrain": lambda: sides.start_launched(config, program, settings),
        "torchrun": lambda: sides.start_torchrun(config, f"torchrun_{program}.py", settings),
    }
