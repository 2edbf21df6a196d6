"""Programs of one process on one core that print "name<TAB>number" lines: each run is one sample."""

import os
import subprocess

from harness import sides
from harness.benchmark import BenchError

CORE = 1
TIMEOUT_S = 600


def made_once(config, name, command):
    """The folder build/bench/NAME, which command(folder) has made: once, until the folder build/ goes."""
    folder = os.path.join(config.root, "build", "bench", name)
    done = os.path.join(folder, "complete")
    if os.path.exists(done):
        return folder
    os.makedirs(folder, exist_ok=True)
    made = subprocess.run(command(folder), capture_output=True, text=True, cwd=config.root)
    if made.returncode != 0:
        raise BenchError(f"{name} could not be made:\n{made.stderr[-2000:]}")
    with open(done, "w"):
        pass
    return folder


def sampler(config, side, command, core=CORE):
    """Returns a sampler. With core = None the program runs on all cores, for programs with workers."""
    environment = {**os.environ, **sides.rtrain_environment(config), "OMP_NUM_THREADS": "1"}

    def sample():
        pinned = command if core is None else ["taskset", "-c", str(core), *command]
        done = subprocess.run(pinned, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise BenchError(f"{side}: ended with {done.returncode}:\n{done.stderr[-2000:]}")
        rows = (line.split("\t") for line in done.stdout.splitlines())
        return {name: float(value) for name, value in rows}

    return sample
