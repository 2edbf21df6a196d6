"""`rtrain ls`: the time of a short command, which must not map LibTorch."""

import contextlib
import fcntl
import os
import statistics
import subprocess
import tempfile
import time

from harness import sides
from harness.benchmark import BenchError, Benchmark, Goal, Metric
from harness.job import mapped_libtorch
from harness.stats import percentile

NAME = "listing"
RUNS_LISTED = 3
CALLS = 30
PEER_CALLS = 2
TIMEOUT_S = 60


def build(config):
    storage = tempfile.TemporaryDirectory(prefix="bench-listing-")
    _make_runs(config, storage.name)
    command = [config.rtrain, "ls", "--storage", storage.name]
    environment = {**os.environ, **sides.rtrain_environment(config)}
    torchrun = [config.torch_python, "-m", "torch.distributed.run", "--help"]

    def own_sample():
        _check_no_libtorch(command, environment)
        return _latencies(command, environment, CALLS)

    benchmark = Benchmark(
        name=NAME,
        text=f"milliseconds from exec to exit of `rtrain ls` over {RUNS_LISTED} runs; torchrun --help for comparison",
        metrics=[Metric("latency", "ms", "median of the calls", 2), Metric("p99", "ms", places=2)],
        goals=[Goal("latency", 10)],
        sides={"rtrain": own_sample, "torchrun": lambda: _latencies(torchrun, environment, PEER_CALLS)},
        notes=["checked in every round: no libtorch in the memory map of `rtrain ls`"],
    )
    benchmark.storage = storage  # the folder must live as long as the benchmark
    return benchmark


def _make_runs(config, storage):
    for index in range(RUNS_LISTED):
        arguments = ["--storage", storage, "--name", f"run-{index}"]
        for setting in ("reports=5", "spaced=0", f"events={storage}"):
            arguments += ["--set", setting]
        script = os.path.join(sides.HERE, "report.lua")
        done = subprocess.run(
            [config.rtrain, "run", script, *arguments],
            env={**os.environ, **sides.rtrain_environment(config)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        if done.returncode != 0:
            raise BenchError(f"rtrain: a run to list ended with {done.returncode}:\n{done.stderr[-2000:]}")


def _latencies(command, environment, calls):
    taken = []
    for _ in range(calls):
        start = time.monotonic()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        taken.append(1e3 * (time.monotonic() - start))
    return {"latency": statistics.median(taken), "p99": percentile(taken, 0.99)}


@contextlib.contextmanager
def at_its_output(command, environment):
    """Returns the command, stopped at the end of its work by a full pipe as standard output."""
    read_end, write_end = os.pipe()
    size = fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    os.write(write_end, bytes(size))
    process = subprocess.Popen(command, env=environment, stdout=write_end)
    os.close(write_end)
    try:
        _wait_until_writing(process)
        yield process
    finally:
        with os.fdopen(read_end, "rb") as pipe:
            pipe.read()
        process.wait()


def _check_no_libtorch(command, environment):
    with at_its_output(command, environment) as process:
        found = mapped_libtorch(process.pid)
    if found:
        raise BenchError(f"rtrain ls maps {found}")


def _wait_until_writing(process):
    write_to_stdout = ("1 0x1 ", "20 0x1 ")  # write and writev of x86-64, with the descriptor
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        with open(f"/proc/{process.pid}/syscall") as file:
            if file.read().startswith(write_to_stdout):
                return
        if process.poll() is not None:
            break
        time.sleep(0.0005)
    raise BenchError("rtrain ls did not come to write its list")
