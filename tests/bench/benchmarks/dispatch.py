"""What an eager operation costs from Lua, from Python, and in C++ below both; one thread, one core."""

import os
import subprocess

from harness import sides
from harness.benchmark import BenchError, Benchmark, Goal, Metric

NAME = "dispatch"
JUDGED = ["add", "mm", "view"]
OTHERS = ["linear", "add_scalar", "add_", "mul_grad", "relu", "sum", "select", "item", "nn_linear", "mlp_forward", "backward"]
STEPS = ["mlp_step_sgd", "mlp_step_adamw"]
CORE = 1
REPEATS = 5
TIMEOUT_S = 300


def build(config):
    calls = 200 if config.quick else 20_000
    arguments = [str(calls), str(REPEATS)]
    lua = [config.rtrain, "exec", os.path.join(sides.HERE, "dispatch.lua")]
    python = [config.torch_python, os.path.join(sides.PEERS, "dispatch.py")]
    commands = {"rtrain": lua, "python": python}
    floor = _build_floor(config)
    commands.update({"c++ boxed": [floor, "boxed"], "c++ direct": [floor, "direct"]})
    names = ["empty", *JUDGED, *OTHERS, *STEPS]
    return Benchmark(
        name=NAME,
        text=f"nanoseconds an operation (least of {REPEATS} loops of {calls}), core {CORE}",
        metrics=[Metric(name, "ns", places=0) for name in names],
        goals=[Goal(name, 0.75, "python") for name in JUDGED],
        sides={side: _sampler(config, side, command + arguments) for side, command in commands.items()},
        notes=[
            "c++ boxed: the dispatcher called with a stack of values; c++ direct: the typed call, as Python makes it.",
            "rtrain makes the typed call for hot operations, the boxed one for all others; what it takes beyond that",
            "is the binding (arguments, result object) and memory that waits for the collector.",
        ],
    )


def _sampler(config, side, command):
    environment = {**os.environ, **sides.rtrain_environment(config), "OMP_NUM_THREADS": "1"}

    def sample():
        pinned = ["taskset", "-c", str(CORE), *command]
        done = subprocess.run(pinned, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise BenchError(f"{side}: ended with {done.returncode}:\n{done.stderr[-2000:]}")
        rows = (line.split("\t") for line in done.stdout.splitlines())
        return {name: float(value) for name, value in rows}

    return sample


def _build_floor(config):
    """Compiles dispatch_floor.cpp against the LibTorch in use, once."""
    source = os.path.join(sides.HERE, "dispatch_floor.cpp")
    target = os.path.join(config.root, "build", "bench", "dispatch_floor")
    if os.path.exists(target) and os.path.getmtime(target) > os.path.getmtime(source):
        return target
    os.makedirs(os.path.dirname(target), exist_ok=True)
    root = os.path.dirname(config.libtorch_folder)
    command = ["g++", "-O2", "-std=c++20", f"-I{root}/include", source, "-o", target]
    command += [f"-L{root}/lib", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{root}/lib", "-Wl,--allow-shlib-undefined"]
    subprocess.run(command, check=True)
    return target
