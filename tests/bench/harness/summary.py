"""Converts samples to the printed lines and to the object that is written as JSON."""

import statistics

from harness.benchmark import OWN
from harness.stats import ratio_interval

QUIET_CORES = 0.15
DAEMONS = "ray"  # these processes outlive their parents, so their work counts as that of other programs


def summarise(benchmark, samples):
    sides = {side: _describe(benchmark, rows) for side, rows in samples.items()}
    goals = [_judge(goal, samples) for goal in benchmark.goals]
    return {
        "benchmark": benchmark.name,
        "text": benchmark.text,
        "sides": sides,
        "ratios": _ratios(benchmark, samples),
        "goals": [goal for goal in goals if goal],
        "skipped": benchmark.skipped,
        "notes": benchmark.notes,
        "samples": samples,
    }


def print_summary(benchmark, summary):
    print(f"\n{benchmark.name}: {benchmark.text}")
    units = {metric.key: metric for metric in benchmark.metrics}
    print(f"  {'':28} {'side':16} {'n':>3} {'min':>10} {'median':>10} {'max':>10}   ratio to it [95 %]")
    for metric in benchmark.metrics:
        for side, described in summary["sides"].items():
            _print_row(metric, side, described.get(metric.key), summary["ratios"])
    for goal in summary["goals"]:
        unit = units[goal["metric"]].unit if goal["metric"] in units else ""
        against = f" × {goal['peer']}" if goal["peer"] else f" {unit}"
        verdict = "met" if goal["met"] else "MISSED"
        print(f"  goal {goal['metric']} ≤ {goal['limit']:g}{against}: {goal['value']:.3g}, {verdict}")
    for side, why in summary["skipped"].items():
        print(f"  {side} skipped: {why}")
    for note in summary["notes"]:
        print(f"  {note}")
    _print_disturbance(summary["samples"])


def _describe(benchmark, rows):
    described = {}
    for metric in benchmark.metrics:
        values = [row[metric.key] for row in rows if metric.key in row]
        if values:
            described[metric.key] = {
                "n": len(values),
                "min": min(values),
                "median": statistics.median(values),
                "max": max(values),
            }
    return described


def _pairs(samples, metric, peer):
    rounds = zip(samples.get(OWN, []), samples.get(peer, []))
    pairs = [(own[metric], other[metric]) for own, other in rounds if metric in own and metric in other]
    return [pair for pair in pairs if pair[1] > 0]


def _ratio(samples, metric, peer):
    pairs = _pairs(samples, metric, peer)
    if not pairs:
        return None
    own, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    low, high = ratio_interval(own, other)
    return {
        "metric": metric,
        "peer": peer,
        "median": statistics.median(own) / statistics.median(other),
        "min": min(own) / min(other),
        "low": low,
        "high": high,
    }


def _ratios(benchmark, samples):
    peers = [side for side in samples if side != OWN]
    found = [_ratio(samples, metric.key, peer) for metric in benchmark.metrics for peer in peers]
    return [ratio for ratio in found if ratio]


def _judge(goal, samples):
    if goal.value:
        value = goal.value(samples)
    elif goal.peer:
        ratio = _ratio(samples, goal.metric, goal.peer)
        value = ratio and ratio["median"]
    else:
        values = [row[goal.metric] for row in samples.get(OWN, []) if goal.metric in row]
        value = statistics.median(values) if values else None
    if value is None:
        return None
    return {"metric": goal.metric, "peer": goal.peer, "limit": goal.limit, "value": value, "met": value <= goal.limit}


def _print_row(metric, side, described, ratios):
    if not described:
        return
    label = f"{metric.text or metric.key} ({metric.unit})"
    figures = " ".join(f"{described[key]:>10.{metric.places}f}" for key in ("min", "median", "max"))
    ratio = next((r for r in ratios if r["metric"] == metric.key and r["peer"] == side), None)
    tail = f"   {ratio['median']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]" if ratio else ""
    print(f"  {label:28} {side:16} {described['n']:>3} {figures}{tail}")


def _print_disturbance(samples):
    others = [row["other_cores"] for side, rows in samples.items() if side != DAEMONS for row in rows]
    if others and statistics.median(others) > QUIET_CORES:
        median, most = statistics.median(others), max(others)
        print(f"  disturbed: other programs kept {median:.2f} cores busy (median of the samples; most {most:.2f})")
