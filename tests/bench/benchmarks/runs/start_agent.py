"""From the start of rtrain's processes to the first step: two nodes with one worker each, and one machine with both
workers.
"""

from benchmarks.runs import cold_start
from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric

NAME = "start_agent"
ONE = "one machine"


def build(config):
    settings = {"model": "convnet", "steps": 1, "batch": config.batch, "data": config.data}
    starts = {
        OWN: lambda: sides.start_rtrain_on_two_nodes(config, "train.lua", settings),
        ONE: lambda: sides.start_rtrain(config, "train.lua", settings),
    }
    phases = [Metric(phase, "s", f"{phase} on all ranks") for phase in cold_start.PHASES]
    return Benchmark(
        name=NAME,
        text=(
            "seconds from exec until a phase has ended; 2 workers, one of them of an agent, "
            "with all processes on this machine"
        ),
        metrics=[*phases, Metric("visible", "s", "report visible"), Metric("exit", "s")],
        goals=[Goal("step", 1.3, ONE)],
        sides={side: cold_start.sampler(OWN, start) for side, start in starts.items()},
        warm_up=not config.quick,
    )
