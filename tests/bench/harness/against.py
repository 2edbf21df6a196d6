"""Compares this executable with an earlier one, in the same rounds: a change must make nothing slower."""

import math
import statistics

from harness.benchmark import OWN, Goal
from harness.stats import ratio_interval

BEFORE = "before"
LIMIT = 1.03


def compare_executables(benchmark, before):
    """Keeps two sides and one goal: the upper end of the interval of the mean ratio over all metrics."""
    benchmark.sides = {OWN: benchmark.sides[OWN], BEFORE: before.sides[OWN]}
    keys = [metric.key for metric in benchmark.metrics]
    benchmark.goals = [
        Goal("upper end of mean ratio to before", LIMIT, value=lambda samples: _upper_end(samples, keys))
    ]
    benchmark.skipped, benchmark.notes = {}, []


def _upper_end(samples, keys):
    rounds = list(zip(samples[OWN], samples[BEFORE]))
    means = [_mean_ratio(own, before, keys) for own, before in rounds]
    return ratio_interval(means, [1] * len(means))[1]


def _mean_ratio(own, before, keys):
    """Returns the geometric mean over the metrics of both samples."""
    logs = [math.log(own[key] / before[key]) for key in keys if own.get(key, 0) > 0 and before.get(key, 0) > 0]
    return math.exp(statistics.mean(logs))
