"""all_reduce through c10d between ranks of this host: shared memory, Gloo, and copies of as many bytes as the floor; and
between ranks of two hosts, which are addresses of this one: shared memory and Gloo, and Gloo alone."""

import subprocess

from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.built import build_target

NAME, ON_HOSTS_NAME = "collectives", "collectives_on_hosts"
GLOO, COPY = "Gloo", "copy"
BACKENDS = {OWN: "shm", GLOO: "gloo", COPY: "copy"}
RANKS = (2, 4, 8)
ON_HOSTS_BACKENDS = {OWN: "hosts", GLOO: "gloo"}
ON_HOSTS_RANKS = (4, 8)
SIZES = ("4K", "1M", "26M")
CORES = "0,1"
TIMEOUT_S = 300


def build(config):
    program = build_target(config, "collectives_bench")
    ranks = RANKS[:1] if config.quick else RANKS
    names = [f"{count}x{size}" for count in ranks for size in SIZES]
    goals = [Goal("2x4K", 1 / 20, GLOO), Goal("2x1M", 1 / 12, GLOO), Goal("2x26M", 1 / 10, GLOO), Goal("2x26M", 2, COPY)]
    return Benchmark(
        name=NAME,
        text="microseconds of one all_reduce, ranks × bytes, all on two cores",
        metrics=[Metric(name, "us") for name in names],
        goals=goals + [Goal(name, 1, GLOO) for name in names if not name.startswith("2x")],
        sides={side: _sampler(program, backend, ranks) for side, backend in BACKENDS.items()},
        notes=["copy: each rank copies as many bytes within its own memory, all at the same time"],
    )


def build_on_hosts(config):
    program = build_target(config, "collectives_bench")
    ranks = ON_HOSTS_RANKS[:1] if config.quick else ON_HOSTS_RANKS
    names = [f"{count}x{size}" for count in ranks for size in SIZES]
    return Benchmark(
        name=ON_HOSTS_NAME,
        text="microseconds of one all_reduce, ranks × bytes, half of the ranks on each of two hosts, all on two cores",
        metrics=[Metric(name, "us") for name in names],
        goals=[Goal(name, 1, GLOO) for name in names],
        sides={side: _sampler(program, backend, ranks) for side, backend in ON_HOSTS_BACKENDS.items()},
    )


def _sampler(program, backend, ranks):
    def sample():
        figures = {}
        for count in ranks:
            done = subprocess.run(["taskset", "-c", CORES, program, backend, str(count)], check=True, capture_output=True,
                                  text=True, timeout=TIMEOUT_S)
            for line in done.stdout.splitlines():
                size, seconds = line.split()
                figures[f"{count}x{size}"] = 1e6 * float(seconds)
        return figures

    return sample
