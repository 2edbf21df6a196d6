"""train.report() of a rank on another node than the controller: how long it takes, and when others can read the report."""

from benchmarks.runs import report
from harness import sides
from harness.benchmark import Benchmark, Goal, Metric
from harness.store import visible_reports_of_rank

NAME = "report_agent"


def build(config):
    settings = {"reports": 5 if config.quick else 2000, "spaced": report.SPACED, "gap": report.GAP_S}

    def start():
        return sides.start_rtrain_on_two_nodes(config, "report.lua", settings)

    return Benchmark(
        name=NAME,
        text="8 numbers, 2 workers, one of them of an agent, with all processes on this machine",
        metrics=[
            Metric("p50", "us", "caller waits, p50", 1),
            Metric("p99", "us", "caller waits, p99", 1),
            Metric("visible", "ms", "until visible, median", 1),
            Metric("visible_most", "ms", "until visible, most", 1),
        ],
        goals=[Goal("p50", 50), Goal("visible_most", 100)],
        sides={"rtrain": report.sampler(start, settings, 1, lambda storage: visible_reports_of_rank(storage, 1))},
        skipped={},
    )
