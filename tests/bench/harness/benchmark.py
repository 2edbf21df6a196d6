"""What a benchmark is: sides that are sampled in turn, metrics read from the samples, goals that judge them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from harness.machine import Disturbance

OWN = "rtrain"


class BenchError(Exception):
    """A side did not do what it is measured at; the text says which and shows the end of its output."""


class Skipped(Exception):
    """A benchmark cannot be measured on this machine; the text says why."""


@dataclass(frozen=True)
class Metric:
    key: str
    unit: str
    text: str = ""
    places: int = 3


@dataclass(frozen=True)
class Goal:
    """Own median (or the ratio of the medians, where a peer is named) at most `limit`; or what `value` makes of all samples."""

    metric: str
    limit: float
    peer: str = ""
    value: Callable = None  # samples -> number; `metric` is then its name


@dataclass
class Benchmark:
    name: str
    text: str
    metrics: list
    goals: list
    sides: dict  # name -> function() -> {metric: value}
    warm_up: bool = False
    rounds: int = 0  # at most that many, where one takes minutes; 0: as many as asked for
    skipped: dict = field(default_factory=dict)  # side -> why
    notes: list = field(default_factory=list)


def measure(benchmark, rounds, progress):
    """{side: [sample a round]}. The order of the sides turns round after every round (ABBA)."""
    order = list(benchmark.sides)
    samples = {side: [] for side in order}
    if benchmark.warm_up:
        for side in order:
            benchmark.sides[side]()
    for index in range(rounds):
        for side in order if index % 2 == 0 else reversed(order):
            disturbance = Disturbance()
            sample = benchmark.sides[side]()
            sample["other_cores"] = disturbance.other_cores()
            samples[side].append(sample)
            progress(benchmark, index, side, sample)
    return samples
