"""What it costs to know which rank is slow, as a part of a short step: counted, since nobody could see it in the times of two
trainings.
"""

from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.built import build_target
from harness.single import sampler

STEP_S = 1e-3
LOOKS_A_SECOND = 4


def build(config):
    sample = sampler(config, OWN, [build_target(config, "watching_bench")], core=None)

    def shares():
        found = sample()
        step = 100 * found["step_ns"] * 1e-9 / STEP_S
        look = 100 * found["look_us"] * 1e-6 * LOOKS_A_SECOND
        return {**found, "step": step, "look": look, "all": step + look}

    return Benchmark(
        name="watching",
        text="a step of 1 ms with two buckets, of two ranks, and the looks at a rank, four in a second",
        metrics=[
            Metric("step_ns", "ns", "of each step in the rank", 0),
            Metric("look_us", "µs", "of each look at the rank", 1),
            Metric("step", "%", "of the step", 3),
            Metric("look", "%", "of the rank's time", 3),
            Metric("all", "%", "both", 3),
        ],
        goals=[Goal("all", 0.1)],
        sides={OWN: shares},
    )
