"""all_reduce between ranks of one node: shared memory and Gloo through c10d, Open MPI, oneCCL, and as floors what the
memory alone takes; and between ranks of two simulated nodes (addresses of this one): shared memory with Gloo, and
Gloo alone.
"""

import os
import shutil
import subprocess

from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.built import build_target, compile_source

NAME, ON_HOSTS_NAME = "collectives", "collectives_on_hosts"
GLOO, COPY, EXCHANGE, MPI, ONECCL = "Gloo", "copy", "exchange", "Open MPI", "oneCCL"
BACKENDS = {OWN: "shm", GLOO: "gloo", COPY: "copy"}
RANKS = (2, 4, 8)
ON_HOSTS_BACKENDS = {OWN: "hosts", GLOO: "gloo"}
ON_HOSTS_RANKS = (4, 8)
SIZES = ("4K", "1M", "26M")
CORES = "0,1"
TIMEOUT_S = 300
MPI_COMPILER, MPI_START = "mpicxx.openmpi", "mpirun.openmpi"
MISSING = "not installed (scripts/bench --mpi installs it)"


def build(config):
    program = build_target(config, "collectives_bench")
    exchange = compile_source(config, "g++", "collectives/exchange.cpp")
    ranks = RANKS[:1] if config.quick else RANKS
    names = [f"{count}x{size}" for count in ranks for size in SIZES]
    peers, skipped = _other_libraries(config)
    goals = [
        Goal("2x4K", 1 / 20, GLOO),
        Goal("2x1M", 1.25, EXCHANGE),
        Goal("2x26M", 1 / 10, GLOO),
        Goal("2x26M", 2, COPY),
    ]
    return Benchmark(
        name=NAME,
        text="microseconds of one all_reduce, ranks × bytes, all on two cores",
        metrics=[Metric(name, "us") for name in names],
        goals=goals + [Goal(name, 1, GLOO) for name in names if not name.startswith("2x")],
        sides={
            **{side: _sampler(_through_c10d(program, backend), ranks) for side, backend in BACKENDS.items()},
            EXCHANGE: _sampler(lambda count: [exchange, str(count)], ranks),
            **{side: _sampler(command, ranks) for side, command in peers.items()},
        },
        skipped=skipped,
        notes=[
            "copy: each rank copies as many bytes within its own memory, all at the same time where each has a core",
            "exchange: the bytes of an all_reduce pass between the cores, each part twice, and nothing is added up",
            "oneCCL: without threads of its own; with more ranks than cores few calls, since its ranks spin",
        ],
    )


def build_on_hosts(config):
    program = build_target(config, "collectives_bench")
    ranks = ON_HOSTS_RANKS[:1] if config.quick else ON_HOSTS_RANKS
    names = [f"{count}x{size}" for count in ranks for size in SIZES]
    return Benchmark(
        name=ON_HOSTS_NAME,
        text="microseconds of one all_reduce, ranks × bytes, half of the ranks on each of two nodes, all on two cores",
        metrics=[Metric(name, "us") for name in names],
        goals=[Goal(name, 1, GLOO) for name in names],
        sides={side: _sampler(_through_c10d(program, backend), ranks) for side, backend in ON_HOSTS_BACKENDS.items()},
    )


def _through_c10d(program, backend):
    return lambda count: [program, backend, str(count)]


def _has_mpi():
    """The wrapper of the compiler comes with the programs of Open MPI, the headers do not."""
    if not shutil.which(MPI_COMPILER):
        return False
    folders = subprocess.run([MPI_COMPILER, "--showme:incdirs"], capture_output=True, text=True).stdout.split()
    return any(os.path.exists(os.path.join(folder, "mpi.h")) for folder in folders)


def _other_libraries(config):
    """Returns {side: function(ranks) -> command} and {side: reason for its absence}."""
    commands, skipped = {}, {MPI: MISSING, ONECCL: MISSING}
    if _has_mpi():
        mpi = compile_source(config, MPI_COMPILER, "collectives/mpi.cpp")
        start = [MPI_START, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        commands[MPI] = lambda count: [*start, "-n", str(count), mpi]
        del skipped[MPI]
    if os.path.exists(os.path.join(config.oneccl, "complete")):
        libraries = os.path.join(config.oneccl, "lib")
        oneccl = compile_source(
            config,
            "g++",
            "collectives/oneccl.cpp",
            f"-I{config.oneccl}/include",
            f"{libraries}/ccl/cpu/lib/libccl.a",
            f"-L{libraries}",
            "-l:libintlc.so.5",
            "-lhwloc",
            "-ldl",
            "-lpthread",
        )
        settings = {
            "LD_LIBRARY_PATH": libraries,
            "FI_PROVIDER_PATH": libraries,
            "CCL_ATL_TRANSPORT": "ofi",
            "CCL_ATL_SHM": "1",
            "CCL_PROCESS_LAUNCHER": "none",
            "CCL_WORKER_OFFLOAD": "0",
            "CCL_YIELD": "sched_yield",
        }
        given = [f"{key}={value}" for key, value in settings.items()]
        commands[ONECCL] = lambda count: ["env", *given, oneccl, str(count)]
        del skipped[ONECCL]
    return commands, skipped


def _sampler(command, ranks):
    def sample():
        figures = {}
        for count in ranks:
            done = subprocess.run(
                ["taskset", "-c", CORES, *command(count)], check=True, capture_output=True, text=True, timeout=TIMEOUT_S
            )
            rows = (line.split() for line in done.stdout.splitlines())  # the libraries also print warnings
            figures.update({f"{count}x{row[0]}": 1e6 * float(row[1]) for row in rows if row[0] in SIZES})
        return figures

    return sample
