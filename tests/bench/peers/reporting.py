"""The loop of the report benchmark in Python, the twin of ../report.lua."""

import time


def metrics_of(index):
    return {f"metric_{k}": float(index + k) for k in range(8)}


def run(config, runtime):
    events = runtime.events
    latencies = []
    for index in range(config.reports):
        start = time.monotonic()
        runtime.report(metrics_of(index))
        latencies.append(time.monotonic() - start)
    for seconds in latencies:
        events.mark("latency", seconds)
    for index in range(config.reports, config.reports + config.spaced):
        time.sleep(config.gap)
        events.mark("spaced", index)
        runtime.report(metrics_of(index))
    time.sleep(config.gap)
