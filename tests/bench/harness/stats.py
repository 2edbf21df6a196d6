"""Medians, and bootstrap intervals of the ratios between sides measured in the same rounds."""

import random
import statistics

RESAMPLES = 10_000


def percentile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def median_ratio(own, peer):
    return statistics.median(own) / statistics.median(peer)


def ratio_interval(own, peer, seed=1):
    """Returns the 95 % interval of the ratio of the medians. Resamples whole rounds, since the samples of a round share
    its disturbance.
    """
    rounds = list(zip(own, peer))
    generator = random.Random(seed)
    ratios = []
    for _ in range(RESAMPLES):
        drawn = generator.choices(rounds, k=len(rounds))
        ratios.append(median_ratio([pair[0] for pair in drawn], [pair[1] for pair in drawn]))
    return percentile(ratios, 0.025), percentile(ratios, 0.975)
