"""The time of an eager operation on small tensors from Lua, from Python, and in the C++ below both; one thread, one
core.
"""

import os
import re
import shutil
import statistics
import subprocess

from harness import gpu, sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import sampler

NAME = "operators"
CALLS, QUICK_CALLS, REPEATS = 4000, 100, 9
FLOOR = "c++"
GPU_CALLS, GPU_REPEATS = 200, 25  # fewer calls than fit in a stream's queue
MADE_ON_THE_CPU = ("zeros", "ones", "arange", "randn")


def build(config):
    arguments = [str(QUICK_CALLS if config.quick else CALLS), str(REPEATS)]
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "operators.lua")],
        "python": [config.torch_python, os.path.join(sides.PEERS, "operators.py")],
        FLOOR: [_build_floor(config)],
    }
    names = _names()
    return Benchmark(
        name=NAME,
        text=f"nanoseconds an operation, {len(names)} of them, least of {REPEATS} loops of {arguments[0]}",
        metrics=[Metric(name, "ns", places=0) for name in names],
        goals=[
            Goal(
                "median ratio to python",
                0.72,
                value=lambda samples: statistics.median(_ratios(samples, names).values()),
            ),
            Goal("largest ratio to python", 0.85, value=lambda samples: max(_ratios(samples, names).values())),
            Goal("largest excess over c++, ns", 350, value=lambda samples: max(_excesses(samples, names).values())),
        ],
        sides={side: sampler(config, side, command + arguments) for side, command in commands.items()},
        notes=[
            (
                "c++: the typed call alone. What rtrain takes beyond it is the binding (arguments, result object) "
                "and the collector."
            )
        ],
    )


def build_gpu(config):
    """The same operations on a GPU, where the CPU only launches them. Without a compiler the C++ program is left out."""
    gpu.require_device(config)
    arguments = [str(QUICK_CALLS if config.quick else GPU_CALLS), str(GPU_REPEATS)]
    env = {**gpu.environment(config, ""), "BENCH_DEVICE": config.device, "OMP_NUM_THREADS": "1"}
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "operators.lua")],
        "python": [config.torch_python, os.path.join(sides.PEERS, "operators.py")],
    }
    if os.path.exists(_floor(config)) or shutil.which("g++"):
        commands[FLOOR] = [_build_floor(config)]

    def side_of(side):
        return lambda: gpu.rows(gpu.run(side, commands[side] + arguments, env)[0])

    names = [name for name in _names() if name not in MADE_ON_THE_CPU]
    return Benchmark(
        name="gpu_operators",
        text=(
            f"nanoseconds of launching an operation on the GPU, {len(names)} of them, "
            f"least of {GPU_REPEATS} loops of {arguments[0]}"
        ),
        metrics=[Metric(name, "ns", places=0) for name in names],
        goals=[
            Goal(
                "median ratio to python",
                0.75,
                value=lambda samples: statistics.median(_ratios(samples, names).values()),
            )
        ],
        sides={side: side_of(side) for side in commands},
        rounds=5,
    )


def _names():
    """Reads the names from the Lua twin, to avoid a fourth list."""
    with open(os.path.join(sides.HERE, "operators.lua")) as file:
        return re.findall(r"^  \{'(\w+)', function", file.read(), re.MULTILINE)


def _median(samples, side, name):
    return statistics.median(row[name] for row in samples[side])


def _ratios(samples, names):
    if "python" not in samples:
        return {"": float("nan")}
    return {name: _median(samples, OWN, name) / _median(samples, "python", name) for name in names}


def _excesses(samples, names):
    if FLOOR not in samples:
        return {"": float("nan")}
    return {name: _median(samples, OWN, name) - _median(samples, FLOOR, name) for name in names}


def _floor(config):
    return os.path.join(config.root, "build", "bench", "operators_floor")


def _build_floor(config):
    """Compiles operators_floor.cpp against the LibTorch in use, once."""
    source, target = os.path.join(sides.HERE, "operators_floor.cpp"), _floor(config)
    if os.path.exists(target) and os.path.getmtime(target) > os.path.getmtime(source):
        return target
    os.makedirs(os.path.dirname(target), exist_ok=True)
    root = os.path.dirname(config.libtorch_folder)
    command = ["g++", "-O2", "-std=c++20", f"-I{root}/include", source, "-o", target]
    command += [
        f"-L{root}/lib",
        "-ltorch_cpu",
        "-lc10",
        "-ldl",
        f"-Wl,-rpath,{root}/lib",
        "-Wl,--allow-shlib-undefined",
    ]
    subprocess.run(command, check=True)
    return target
