"""A benchmark: sides that are sampled in turn, metrics read from the samples, and goals for the metrics."""

from collections.abc import Callable
from dataclasses import dataclass, field

from harness.machine import Disturbance

OWN = "rtrain"


class BenchError(Exception):
    """Raised when a side did not do what is measured; the text names the side and shows the end of its output."""


class Skipped(Exception):
    """Raised when a benchmark cannot be measured on this machine; the text gives the reason."""


@dataclass(frozen=True)
class Metric:
    key: str
    unit: str
    text: str = ""
    places: int = 3


@dataclass(frozen=True)
class Goal:
    """The own median (or the ratio of the medians if a peer is named) must be at most `limit`; or the result of `value`
    must.
    """

    metric: str
    limit: float
    peer: str = ""
    value: Callable = None  # samples -> number; `metric` is then its label


@dataclass
class Benchmark:
    name: str
    text: str
    metrics: list
    goals: list
    sides: dict  # name -> function() -> {metric: value}
    warm_up: bool = False
    rounds: int = 0  # the largest number of rounds, if one takes minutes; 0: unlimited
    skipped: dict = field(default_factory=dict)  # side -> reason
    notes: list = field(default_factory=list)


def measure(benchmark, rounds, progress):
    """Returns {side: [one sample for each round]}. The order of the sides is reversed after every round (ABBA)."""
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
